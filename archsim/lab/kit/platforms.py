"""What platforms of a chip name that the chip's own file cannot know: schedule policies, operators, vector functions.

The grammar of chips knows nothing of compilers and operators, which are found by name, those of plugins too. So this
is asked where a chip is checked and before it runs anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from archsim.base.errors import ConfigError, nearest, nearest_name
from archsim.ir.inside import MAC
from archsim.spec.architecture import Architecture
from archsim.spec.by_name import ByName
from archsim.spec.platforms import Platform
from mapper.policies import catalogue

Complaint = tuple[str, str]  # a key path of the chip, and what is wrong with it


def check_platforms(chip: Architecture, place: Callable[[str], str]) -> None:
    """Raise ConfigError with every key of the chip's platforms that names nothing, or that acts nowhere.

    ``place``: where a key path of the chip is stated, for the message.
    """
    found = [each for name, platform in chip.platforms.items() for each in _complaints(f"platforms.{name}", platform)]
    lines = [f"{place(path)}: {path}: {said}" for path, said in found]
    if len(lines) == 1:
        raise ConfigError(lines[0])
    if lines:
        raise ConfigError("\n  ".join([f"{len(lines)} problems:", *lines]))


def _complaints(path: str, platform: Platform) -> Iterator[Complaint]:
    known = catalogue.names()
    if platform.policy and platform.policy not in known:
        said = f"found '{platform.policy}'; allowed {', '.join(known)}{nearest(platform.policy, known)}"
        yield f"{path}.policy", said
    elif platform.policy:
        yield from _unread(path, platform)
    yield from _unknown_names(path, platform)


def _unread(path: str, platform: Platform) -> Iterator[Complaint]:
    """Keys that the platform's policy makes nothing of."""
    policy = platform.policy
    if platform.prefetch is not None and not catalogue.reads(policy, "prefetch"):
        others = ", ".join(name for name in catalogue.names() if catalogue.reads(name, "prefetch"))
        yield f"{path}.prefetch", f"policy '{policy}' does not read it; allowed with a policy that does: {others}"
    if catalogue.is_one_kernel(policy):
        for key in (key for key, time in platform.host.times.items() if time.others):
            said = f"found times of single operators, but policy '{policy}' launches a model as one kernel"
            yield f"{path}.host.{key}", f"{said}; allowed one time for all"


def _unknown_names(path: str, platform: Platform) -> Iterator[Complaint]:
    """Names in tables by name that nothing has."""
    for key, time in platform.host.times.items():
        for name, near in _strangers(time, _operators):
            said = f"no operator '{name}'{near}; allowed the operators that 'archsim show operators' lists"
            yield f"{path}.host.{key}.{name}", said
    for name, near in _strangers(platform.vector_share, _functions):
        said = f"no function '{name}' of vector units{near}; allowed {', '.join(_functions())}"
        yield f"{path}.vector_share.{name}", said


def _strangers(table: ByName[Any], names: Callable[[], Collection[str]]) -> Iterator[tuple[str, str]]:
    """Names of a table that are none of ``names``, with a hint; these are in many files, so that only a table which
    names some asks for them."""
    known = {name.lower(): name for name in names()} if table.others else {}
    for name in table.others:
        if name not in known.values():
            meant = known.get(nearest_name(name, known), "")
            yield name, f" (did you mean '{meant}'?)" if meant else ""


def _operators() -> Collection[str]:
    from archsim.ops.kit.catalogue import operators

    return operators()


def _functions() -> Collection[str]:
    from archsim.ops.kit.catalogue import meanings

    return sorted([*meanings(), MAC])
