"""Platforms of chip files: what they change of the chip, how they are chosen, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import archsim as ax
from archsim.base.errors import ConfigError
from archsim.spec import load
from archsim.spec.on_platform import on_platform
from tests.unit.fixtures_chip import CHIP

PLATFORMS = """
platforms:
  library: {policy: framework, host: {launch: 3 us, issue: 7 us, floor: 1 us, depth: 4, per: kernel}, clock_share: 1/2}
  plain: {}
platform: library
"""


def with_platforms(text: str = PLATFORMS) -> str:
    """The text of a small chip with platforms."""
    return CHIP + text


def test_a_platform_changes_the_host_and_the_clock() -> None:
    """The host's keys in place of the chip's; half of the clock for parts that have the chip's; cycles stay its own."""
    plain, found = load.loads(CHIP), load.loads(with_platforms())
    assert found.host is not None and plain.host is not None
    assert (found.host.launch_ps, found.host.issue_ps, found.host.floor_ps) == (3_000_000, 7_000_000, 1_000_000)
    assert (found.host.depth, found.host.per) == (4, "kernel")
    assert found.host.link_bytes_per_s == plain.host.link_bytes_per_s
    assert found.clock_hz == plain.clock_hz
    assert [part.clock_hz for part in found.arrays] == [part.clock_hz // 2 for part in plain.arrays]
    outside = [(part.name, part.clock_hz) for part in found.parts() if part.scope != "chip"]
    assert outside == [(part.name, part.clock_hz) for part in plain.parts() if part.scope != "chip"]


def test_the_platform_is_chosen_like_any_key() -> None:
    found = load.loads(with_platforms(), {"platform": "plain"})
    assert found.platform == "plain" and found.host is not None and found.host.per == "program"
    assert found.arrays == load.loads(CHIP).arrays
    assert found.replace({"platform": "library"}).arrays == load.loads(with_platforms()).arrays
    slower = load.loads(with_platforms()).replace({"platforms.library.clock_share": "1/4"})
    assert slower.arrays[0].clock_hz * 2 == load.loads(with_platforms()).arrays[0].clock_hz


def test_canonical_text_states_the_chip_and_its_platforms() -> None:
    """It loads to an equal chip, and its platform is applied once."""
    found = load.loads(with_platforms())
    again = load.loads(load.to_yaml(found))
    assert again == found and again.sha256 == found.sha256
    assert found.platforms["library"].clock_share == Fraction(1, 2)
    assert found.sources["platforms.library.host.issue"] == "by definition: round numbers for tests"
    assert found.sha256 != load.loads(with_platforms(), {"platform": "plain"}).sha256
    assert "platform" not in load.to_yaml(load.loads(CHIP))


def test_a_chip_without_a_platform_stays_itself() -> None:
    found = load.loads(CHIP)
    assert on_platform(found) is found


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("platform: library", "platform: libary", "platform: found 'libary'; allowed library, plain.*'library'"),
        ("depth: 4", "deep: 4", "unknown key 'deep'"),
        ("clock_share: 1/2", "clock_share: 2", "clock_share: found 2; allowed a number 1/100 to 1"),
        ("per: kernel", "per: layer", "per: found 'layer'; allowed program, kernel"),
    ],
)
def test_mistakes_are_told_with_their_place(old: str, new: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        load.loads(with_platforms().replace(old, new), file="mine.yaml")


def test_a_platform_without_platforms_is_refused() -> None:
    with pytest.raises(ConfigError, match="platform: found 'x'; allowed no platform, since the file states none"):
        load.loads(CHIP + "\nplatform: x\n")


def test_a_floor_belongs_to_kernels() -> None:
    wrong = CHIP.replace("- host: {", "- host: {floor: 1 us, ", 1)
    with pytest.raises(ConfigError, match="host.floor: found '1 us'; allowed 0 s, or with 'per: kernel'"):
        load.loads(wrong)


def test_a_host_of_kernels_may_issue_more_slowly_than_it_launches() -> None:
    """A framework takes longer to come to its next kernel than the launch takes; of whole Programs that is refused."""
    text = CHIP.replace("issue: 0 s", "issue: 9 us")
    with pytest.raises(ConfigError, match="host.issue: found '9 us'"):
        load.loads(text)
    found = load.loads(text.replace("- host: {", "- host: {per: kernel, ", 1))
    assert found.host is not None and found.host.issue_ps == 9_000_000


def test_times_of_launches_by_operator() -> None:
    """One for all kernels, others for those of some operators; the canonical text says so, too."""
    text = with_platforms().replace("issue: 7 us", "issue: {default: 7 us, Softmax: 9 us, Gelu: 1 us}")
    found = load.loads(text)
    assert found.host is not None and found.host.issue_ps == 7_000_000
    times = {operator: found.host.time_ps("issue", operator) for operator in ("Gemm", "Softmax", "Gelu", "")}
    assert times == {"Gemm": 7_000_000, "Softmax": 9_000_000, "Gelu": 1_000_000, "": 7_000_000}
    assert found.host.time_ps("floor", "Softmax") == 1_000_000
    assert "issue: {default: 7 us, Gelu: 1 us, Softmax: 9 us}" in load.to_yaml(found)
    assert load.loads(load.to_yaml(found)) == found
    assert found.sources["platforms.library.host.issue.Softmax"] == "by definition: round numbers for tests"
    plain = load.loads(CHIP)
    assert plain.host is not None and plain.host.time_ps("launch", "Gemm") == plain.host.launch_ps


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ("{Softmax: 9 us}", "found .*; allowed 0 s to 1 s, in .*, or a mapping such as"),
        ("{default: 7 us, Softmax: 9}", "found 9"),
        ("2 s", "found '2 s'; allowed 0 s to 1 s"),
    ],
)
def test_a_table_of_launches_has_a_default_and_times(stated: str, says: str) -> None:
    with pytest.raises(ConfigError, match=rf"platforms.library.host.issue: {says}"):
        load.loads(with_platforms().replace("issue: 7 us", f"issue: {stated}"))


def test_policies_are_found_by_name(tmp_path: Path) -> None:
    """``--schedule`` takes layers, best, platform, and the names of policies."""
    path = tmp_path / "small.yaml"
    path.write_text(with_platforms("\nplatforms: {bare: {}}\n"))
    with pytest.raises(ConfigError, match=r"schedule: found 'platform' on chip '\w+', but it runs on no platform"):
        ax.run("gemm_2048", path, schedule="platform")
    with pytest.raises(ConfigError, match="but platform 'bare' states no policy; allowed layers, best, framework"):
        ax.run("gemm_2048", path, schedule="platform", set={"platform": "bare"})
    with pytest.raises(ConfigError, match="schedule: found 'xlaa'.*did you mean 'xla'"):
        ax.run("gemm_2048", path, schedule="xlaa")
