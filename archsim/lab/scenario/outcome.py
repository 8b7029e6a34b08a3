"""What comes of a scenario at one operating point: responses, misses, and power by the law of periods.

    average power = (sum of the frames' energies + power at rest x time at rest) / hyperperiod

in whole zeptojoules and picoseconds (1 nW x 1 ps = 1 zJ). At rest each part draws its ``idle`` power, its leakage where
none is stated; a chip that sleeps draws the scenario's figure instead, and its power at rest while it wakes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from archsim.base.errors import ConfigError
from archsim.energy.chip_tables import NW_PER_W, ZJ_PER_J
from archsim.lab.scenario.form import ChipSleep, Scenario
from archsim.lab.scenario.frames import frames_of, hyperperiod_ps
from archsim.lab.scenario.serve import FrameService
from archsim.lab.scenario.timeline import FrameDone, FrameServer, SteadyWindow, steady, urgency

_PS = 10**12


@dataclass(frozen=True)
class ScenarioOutcome:
    """A steady timeline of ``services`` with the power ``idle_nw`` (by part) at rest."""

    services: tuple[FrameService, ...]
    window: SteadyWindow
    idle_nw: Mapping[str, int]
    sleep: ChipSleep | None

    def done(self, place: int) -> list[FrameDone]:
        """Frames of a stream that are done in it."""
        return [each for each in self.window.done if each.frame.stream == place]

    @property
    def misses(self) -> int:
        """Frames done behind their deadline."""
        return sum(each.slack_ps < 0 for each in self.window.done)

    @property
    def load(self) -> Fraction:
        """Share of time that the frames' runs take."""
        return load(self.services)

    @property
    def idle_total_nw(self) -> int:
        """Of all parts at rest."""
        return sum(self.idle_nw.values())

    @property
    def idle_parts_zj(self) -> dict[str, int]:
        """By part at rest and while the chip wakes; none while it sleeps."""
        rest = self.window.wake_ps + (0 if self.sleep else self.window.rest_ps)
        return {name: power * rest for name, power in self.idle_nw.items()}

    @property
    def sleep_zj(self) -> int:
        """Of the whole chip asleep."""
        return round(self.sleep.power_w * NW_PER_W * self.window.rest_ps) if self.sleep else 0

    @property
    def energy_zj(self) -> dict[str, int]:
        """Of a hyperperiod: by stream, ``idle``, and of a chip that sleeps ``wake`` and ``sleep``."""
        found = {
            service.stream.name: len(self.done(place)) * service.energy_zj
            for place, service in enumerate(self.services)
        }
        rest = sum(self.idle_parts_zj.values())
        return found | ({"idle": 0, "wake": rest, "sleep": self.sleep_zj} if self.sleep else {"idle": rest})

    @property
    def parts_zj(self) -> dict[str, int]:
        """Of a hyperperiod by part; ``sleep`` is no part's."""
        found = dict(self.idle_parts_zj)
        for place, service in enumerate(self.services):
            for name, energy in service.parts_zj.items():
                found[name] = found.get(name, 0) + len(self.done(place)) * energy
        return found | ({"sleep": self.sleep_zj} if self.sleep else {})

    @property
    def power_avg_w(self) -> float:
        """The law above."""
        return float(Fraction(sum(self.energy_zj.values()) * _PS, ZJ_PER_J * self.window.length_ps))

    @property
    def power_peak_w(self) -> float:
        """The largest of any run, or at rest."""
        return max(*[service.peak_w for service in self.services], self.idle_total_nw / NW_PER_W)


def load(services: Sequence[FrameService]) -> Fraction:
    """Share of time that runs take at the streams' rates, exactly."""
    return sum((service.run_ps / service.stream.period_ps for service in services), Fraction(0))


def outcome(scenario: Scenario, services: tuple[FrameService, ...], idle_nw: Mapping[str, int]) -> ScenarioOutcome:
    """Serve the frames; raises ConfigError for streams that need more time than there is."""
    check_load(services)
    length = hyperperiod_ps(scenario.streams)
    whole = scenario.preempt == "never"
    cuts = [(service.run_ps,) if whole else service.layer_ends_ps for service in services]
    server = FrameServer(
        cuts, urgency(scenario.policy, scenario.streams), scenario.sleep.wake_ps if scenario.sleep else None
    )
    found = ScenarioOutcome(services, steady(scenario.streams, server, length), idle_nw, scenario.sleep)
    for place, stream in enumerate(scenario.streams):
        assert len(found.done(place)) == frames_of(stream, found.window.length_ps)
    return found


def check_load(services: Sequence[FrameService]) -> None:
    """Raises ConfigError with every stream's share when they need more time than there is."""
    found = load(services)
    if found <= 1:
        return
    shares = ", ".join(
        f"{each.stream.name} {float(each.run_ps / each.stream.period_ps):.3g} "
        f"({float(each.stream.rate_hz):g} Hz x {each.run_ps / 1e9:.4g} ms)"
        for each in services
    )
    raise ConfigError(
        f"streams: found a load of {float(found):.4g} of the chip: {shares}; allowed at most 1: lower rates, a faster "
        "chip or smaller models"
    )
