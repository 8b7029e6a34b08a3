"""A sample of the campaign on verification: each feature once, on chips in turn, and a planted mistake of each kind."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from archsim.ir.program import PlacedTensor
from archsim.ir.workload import View
from mapper.execute.views import view_bytes
from tests.tools.networks import FEATURES, network
from tests.tools.verification import CHIPS, PLANTS, Plant, Verdict, planted, plants_of, report, tasks_of, verified

CHIPS_IN_TURN = ("edge_npu", "tpu_v1", "nvdla_large", "ar_soc", "gemmini_16x16", "tpu_v4i")
UNDEFINED = 16  # a network whose quantised form divides 0 by 0


@pytest.mark.parametrize("case", [*range(len(FEATURES)), UNDEFINED])
def test_a_right_program_is_not_doubted(case: int, tmp_path: Path) -> None:
    found = verified(tmp_path, (case, CHIPS_IN_TURN[case % len(CHIPS_IN_TURN)]))
    assert (found.refused, found.alarms) == ("", ())
    assert list(FEATURES)[case % len(FEATURES)] in found.features
    assert found.checks[0] == "float32" and (len(found.checks) == 2 or "not integers" in found.skipped[0])


@pytest.mark.parametrize(("case", "kind"), [(0, "region"), (1, "token"), (3, "scale")])
def test_a_planted_mistake_is_found(case: int, kind: str, tmp_path: Path) -> None:
    found = planted(tmp_path, (case, "edge_npu", kind))
    assert found.found, found


def test_networks_are_the_same_in_every_run_and_valid() -> None:
    for case in range(len(FEATURES)):
        made = network(case)
        assert made.proto.SerializeToString() == network(case).proto.SerializeToString()
        onnx.checker.check_model(made.proto)


def test_each_network_has_its_chips_in_turn() -> None:
    tasks = tasks_of(20, CHIPS, 6)
    assert len(set(tasks)) == 120 and {chip for _, chip in tasks} == set(CHIPS)
    assert [chip for case, chip in tasks if case == 1] == list(CHIPS[1:7])


def test_mistakes_are_spread_over_kinds_networks_and_chips() -> None:
    tasks = plants_of(30, 300, CHIPS)
    assert {kind for _, _, kind in tasks} == set(PLANTS) and len({case for case, _, _ in tasks}) == 30
    assert len({chip for _, chip, _ in tasks}) >= 6 and not {"tpu_v4i", "simba"} & {chip for _, chip, _ in tasks}


def test_the_report_names_every_false_alarm_every_reason_and_every_miss() -> None:
    verdicts = [
        Verdict(0, "edge_npu", ("residual",), "", (), ("float32", "int8"), (), 0.5),
        Verdict(
            0, "tpu_v1", ("residual",), "", (), ("float32", "int8"), ("float32: relu (Relu) 3 times the bound ",), 0
        ),
        Verdict(1, "edge_npu", ("concat",), "MappingError: no room", (), (), (), 0.0),
        Verdict(1, "tpu_v1", ("concat",), "MappingError: no room", (), (), (), 0.0),
    ]
    plants = [Plant(0, "edge_npu", "token", "wait a", "refused: x", 2), Plant(1, "edge_npu", "region", "in0+1", "", 0)]
    text = report(verdicts, plants)
    assert "2 networks, 2 chips: 2 of 4 verified (float32 2, int8 2), 1 false alarms" in text
    assert "false alarm: network 0 on tpu_v1: float32: relu (Relu) 3 times the bound" in text
    assert "refused: 2 x MappingError: no room" in text
    assert "2 planted mistakes: 1 found; 2 others drawn on the way changed no output" in text
    assert "NOT FOUND: region of network 1 on edge_npu: in0+1" in text


def test_a_view_of_images_of_one_pixel_with_a_border() -> None:
    """Rows, columns and images lie a pixel apart in the Workload; in memory images move, by what the border takes."""
    stored = PlacedTensor("t", "l1", 0, 198, "int8", "inputs", (2, 1, 1, 11), (99, 33, 11, 1), origin=44)
    offset, strides = view_bytes(stored, View("t", 5, (11, 11, 11, 1)))
    assert (offset, strides[0], strides[3]) == (49, 99, 1)
    assert view_bytes(stored, View("t", 16, (11, 11, 11, 1)))[0] == 44 + 99 + 5
