"""Platforms of chip files: what they change of the chip, how they are chosen, and what is refused."""

from __future__ import annotations

import re
import textwrap
from fractions import Fraction
from pathlib import Path

import pytest

import archsim as ax
from archsim.base.errors import ConfigError
from archsim.cli.app import main
from archsim.lab.files.check_files import check_file
from archsim.lab.kit.options import SCHEDULES
from archsim.lab.sweep.resolve import resolve
from archsim.spec import load
from archsim.spec.keys import keys_of
from archsim.spec.on_platform import on_platform
from archsim.spec.platforms import Platform
from archsim.spec.problems import keys
from archsim.spec.schema import PLATFORM, PLATFORM_HOST
from mapper.policies import catalogue
from tests.tools.chip_page import chip_page
from tests.tools.commands import ROOT
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
        ("{default: 7 us, Softmax: 9}", "Softmax: found 9"),
        ("2 s", "found '2 s'; allowed 0 s to 1 s"),
        ("soon", "found 'soon'; allowed a time with .*, or a mapping such as {default: 5 us, Softmax: 7 us}"),
        ("{default: 7 us, Softmax: 9 b}", "Softmax: found '9 b'; allowed a time with"),
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


@pytest.mark.parametrize("key", ["launch", "issue", "floor", "depth", "per"])
def test_a_key_that_the_platform_states_is_set_there(key: str) -> None:
    """The chip's own would be set without effect, so that is refused; the file itself may state both."""
    value = {"per": "kernel", "depth": 2}.get(key, "3 us")
    says = rf"--set host.{key}: platform 'library' states its own.*; allowed platforms.library.host.{key}$"
    with pytest.raises(ConfigError, match=says):
        load.loads(with_platforms(), {f"host.{key}": value})
    with pytest.raises(ConfigError, match=rf"replace host.{key}: platform 'library'"):
        load.loads(with_platforms()).replace({f"host.{key}": value})
    with pytest.raises(ConfigError, match=f"host.{key}: platform 'library'"):
        load.loads(with_platforms(), {f"host.{key}": value, "platform": "library"})


def test_keys_of_the_host_that_act_may_be_set() -> None:
    """Those that the platform does not state, and all of them on a platform that states none."""
    found = load.loads(with_platforms(), {"host.link": "2 GB/s", "platforms.library.host.launch": "9 us"})
    assert found.host is not None and found.host.link_bytes_per_s == 2 * 10**9 and found.host.launch_ps == 9_000_000
    other = load.loads(with_platforms(), {"host.launch": "4 us", "platform": "plain"})
    assert other.host is not None and other.host.launch_ps == 4_000_000
    renamed = with_platforms().replace("- host: {", "- host: {name: cpu, ", 1)
    with pytest.raises(ConfigError, match="--set cpu.launch: platform 'library' states its own"):
        load.loads(renamed, {"cpu.launch": "4 us"})


def test_a_sweep_sets_keys_of_the_host_where_a_platform_lets_it(tmp_path: Path) -> None:
    """An axis is refused where every platform of the sweep states its key."""
    (tmp_path / "small.yaml").write_text(with_platforms())
    text = "name: s\nchip: {chip}\nmodels: [gemm]\naxes:\n  host.launch: [1 us, 2 us]\n{more}objectives: [latency_s]\n"
    path = tmp_path / "sweep.yaml"
    path.write_text(text.format(chip=tmp_path / "small.yaml", more=""))
    with pytest.raises(ConfigError, match=r"sweep.yaml:5:3: axes.host.launch: platform 'library' states its own"):
        resolve(path)
    path.write_text(text.format(chip=tmp_path / "small.yaml", more="  platform: [library, plain]\n"))
    assert len(resolve(path).sweep.axes) == 2


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ("{host: {floor: 5 us}}", "host.floor: found a floor of 5 us; allowed 0 s, or with 'per: kernel'"),
        ("{host: {issue: 5 us}}", "host.issue: found an issue of 5 us; allowed 0 s to 1 us, the launch, or with"),
        ("{host: {launch: 0 s}}", ""),
        ("{host: {launch: {default: 5 us, Gemm: 6 us}}}", "host.launch: found times of single operators; allowed one"),
        ("{prefetch: 1/2}", "prefetch: found no policy that would read it; allowed beside a 'policy'"),
        ("{policy: xla, prefetch: 1/2}", ""),
        ("{host: {floor: 5 us, per: kernel}}", ""),
        ("{host: {floor: 0 s, depth: 3}}", ""),
    ],
)
def test_keys_of_a_platform_act(stated: str, says: str) -> None:
    """The host as the platform makes it launches whole Programs or kernels, and its keys have a meaning then."""
    text = with_platforms(f"\nplatforms:\n  bare: {stated}\n")
    if not says:
        assert load.loads(text).platforms
        return
    with pytest.raises(ConfigError, match=rf"mine.yaml:18:\d+: platforms.bare.{says}") as told:
        load.loads(text, file="mine.yaml")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("own", "says"),
    [
        ("floor: 2 us", "host.per: found a floor of 2 us; allowed 0 s, or with 'per: kernel'"),
        ("issue: 2 us", "host.per: found an issue of 2 us; allowed 0 s to 1 us, the launch"),
    ],
)
def test_a_platform_of_programs_has_no_keys_of_kernels_from_the_chip(own: str, says: str) -> None:
    """What the chip's own host states of kernels is wrong where a platform launches Programs."""
    chip = CHIP.replace("depth: 1, issue: 0 s", f"depth: 1, {own}").replace("- host: {", "- host: {per: kernel, ", 1)
    assert load.loads(chip).host is not None
    with pytest.raises(ConfigError, match=f"platforms.bare.{says}"):
        load.loads(chip + "\nplatforms: {bare: {host: {per: program}}}\n")


NAMED = """
platforms:
  mine: {policy: framework, host: {per: kernel, issue: {default: 0 s, Gemm: 2 us}}, vector_share: {default: 1, gelu: 1}}
platform: mine
"""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("policy: framework", "policy: xlaa", r"18:\d+: platforms.mine.policy: found 'xlaa'; allowed .*mean 'xla'"),
        ("Gemm:", "Gem:", r"18:\d+: platforms.mine.host.issue.Gem: no operator 'Gem' \(did you mean 'Gemm'"),
        ("Gemm:", "GEMM:", "no operator 'GEMM' .did you mean 'Gemm'"),
        (
            "gelu:",
            "galu:",
            r"18:\d+: platforms.mine.vector_share.galu: no function 'galu' .* mean 'gelu'.*allowed abs,",
        ),
        (
            "policy: framework",
            "policy: framework, prefetch: 1/2",
            "prefetch: policy 'framework' does not read it; .*xla",
        ),
        ("policy: framework", "policy: xla", "host.issue: found times of single operators, but policy 'xla' launches"),
    ],
)
def test_names_of_platforms_are_judged_with_the_chip(tmp_path: Path, old: str, new: str, says: str) -> None:
    """By ``check``, when the chip is loaded and before a run, with the place that states them."""
    path = tmp_path / "small.yaml"
    path.write_text(CHIP + NAMED)
    assert check_file(path).startswith("chip 'small'") and ax.load_chip(path).platform == "mine"
    path.write_text((CHIP + NAMED).replace(old, new))
    for asked in (lambda: check_file(path), lambda: ax.load_chip(path), lambda: ax.run("gemm_2048", path)):
        with pytest.raises(ConfigError, match=rf"^{path}:\d+:\d+: platforms.mine") as told:
            asked()
        assert re.search(says, str(told.value))
    with pytest.raises(ConfigError, match="^chip 'small': platforms.mine"):
        ax.run("gemm_2048", load.load(path))


def test_names_of_platforms_that_are_set_are_told_as_set(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(CHIP + NAMED)
    with pytest.raises(ConfigError, match="^--set: platforms.mine.policy: found 'xlaa'"):
        ax.run("gemm_2048", path, set={"platforms.mine.policy": "xlaa"})
    several = {"platforms.mine.host": {"per": "kernel", "launch": {"default": "1 us", "Gem": "2 us", "Sofmax": "2 us"}}}
    with pytest.raises(
        ConfigError, match="^2 problems:\n  --set: platforms.mine.host.launch.Gem: .*\n  --set: .*Softmax"
    ):
        ax.run("gemm_2048", path, set=several)


def test_functions_of_programs_have_shares(tmp_path: Path) -> None:
    """That of products in lanes too, which no operator's steps name."""
    path = tmp_path / "small.yaml"
    path.write_text((CHIP + NAMED).replace("gelu:", "mac:"))
    assert check_file(path)


POLICY = """
from mapper.policies.catalogue import ScheduleRestriction

{declared}
def restrict(workload, chip):
    return ScheduleRestriction()
"""


def test_policies_of_plugins_are_policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They say what they read of a platform, and whether they launch a model as one kernel."""
    folder = tmp_path / "plugins" / "policies"
    folder.mkdir(parents=True)
    (folder / "open.py").write_text(POLICY.format(declared="PLATFORM_KEYS = ('prefetch',)"))
    (folder / "whole.py").write_text(POLICY.format(declared="ONE_KERNEL = True"))
    monkeypatch.setenv("ARCHSIM_PLUGINS", str(tmp_path / "plugins"))
    path = tmp_path / "small.yaml"
    path.write_text((CHIP + NAMED).replace("policy: framework", "policy: open, prefetch: 1/2"))
    assert check_file(path)
    path.write_text((CHIP + NAMED).replace("policy: framework", "policy: whole"))
    with pytest.raises(ConfigError, match="but policy 'whole' launches a model as one kernel"):
        check_file(path)
    assert [catalogue.is_one_kernel(name) for name in ("whole", "open", "")] == [True, False, False]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--platform", ""], "--platform: platform: found ''"),
        (["--platform", "nope"], "--platform: platform: found 'nope'; allowed library, plain"),
        (["--platform", "plain", "--set", "platform=nope"], "--platform: found 'plain' beside --set platform=nope"),
        (["--set", "platform=plain", "--platform", "plain"], "--platform: found 'plain' beside --set platform=plain"),
    ],
)
def test_the_option_of_a_platform(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    """It is told by its own name, and is neither empty nor beside another platform."""
    path = tmp_path / "small.yaml"
    path.write_text(with_platforms())
    with pytest.raises(SystemExit) as end:
        main(["run", "gemm_2048", "--on", str(path), *options])
    assert end.value.code == 2 and capsys.readouterr().err.startswith(f"error: {says}")


def test_python_takes_one_platform() -> None:
    with pytest.raises(ConfigError, match="platform: found 'xla' beside set platform=nope; allowed one of them"):
        ax.run("gemm_2048", "tpu_v6e", set={"platform": "nope"}, platform="xla")


def test_parts_at_the_chips_clock_go_with_it() -> None:
    """Also one whose clock the file states, if it is the same; another one is kept. The page says so."""
    same = with_platforms().replace("name: mxu,", "name: mxu, clock: 1 GHz,")
    other = with_platforms().replace("name: mxu,", "name: mxu, clock: 2 GHz,")
    assert load.loads(same).arrays[0].clock_hz == 500_000_000
    assert load.loads(other).arrays[0].clock_hz == 2_000_000_000
    says = next(item.key.says for item in keys_of(Platform) if item.key.name == "clock_share")
    assert "parts at another clock than the chip's keep theirs" in says


def test_the_page_of_chips_explains_platforms(tmp_path: Path) -> None:
    """Every key of a platform and of its host has its row, the text names those of a platform, its example is one."""
    head, *sections = chip_page().split("\n## ")
    text = head.partition("**Platforms.**")[2].partition("\n**")[0]
    assert all(f"`{key}`" in text for key in ("platform", *keys(PLATFORM)) if key != "host") and "host:" in text
    example = textwrap.dedent("".join(line for line in text.splitlines(keepends=True) if line.startswith("    ")))
    path = tmp_path / "small.yaml"
    path.write_text(CHIP + example)
    assert "vector_share" in example and check_file(path).startswith("chip 'small'")
    rows = {section.partition("\n")[0]: section for section in sections}
    for title, section in (("platforms", PLATFORM), ("platforms: host", PLATFORM_HOST)):
        assert all(f"\n| `{key}` |" in rows[title] for key in keys(section))


def test_pages_name_every_schedule() -> None:
    """Those of the options, and the policies that there are."""
    page = (ROOT / "docs" / "mapping.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in (*SCHEDULES, "both", *catalogue.names()))
    row = next(
        line for line in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines() if "policies/" in line
    )
    assert "`show policies`" in row and "--schedule NAME" in row
