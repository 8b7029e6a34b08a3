"""Latent attention in its two forms: a step of decode gives what the same row of a prompt gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from archsim.frontend.config_models import read_model
from archsim.graph.lowering.lower import lower_graph
from archsim.graph.numeric import reference
from archsim.graph.numeric.constants import Constants, inputs_of
from archsim.ir.graph import Array, Graph
from tests.tools.small_transformers import written

ROWS, PLAIN = 9, 16


def graph_of(path: Path, phase: str, **asked: int) -> Graph:
    """Behind the passes."""
    found = lower_graph(read_model(path, "m", asked, phase=phase), batch=asked["batch"], sha256="").graph
    assert found is not None
    return found


def parted(name: str, weights: Array) -> dict[str, Array]:
    """The weights that make keys and values, as decode applies them to queries and to results."""
    by_head = np.moveaxis(weights.reshape(weights.shape[0], 4, -1), 1, 0)
    module = name.removesuffix(".weight")
    return {
        f"{module}.key.weight": by_head[:, :, :PLAIN].transpose(0, 2, 1),
        f"{module}.value.weight": by_head[:, :, PLAIN:],
    }


@pytest.mark.parametrize(("batch", "width"), [(1, 1), (2, 3)])
def test_a_step_over_latents_is_a_row_of_the_prompt(tmp_path: Path, batch: int, width: int) -> None:
    """Law 49 between the forms: the prompt makes keys and values of each head, the step attends to latents."""
    path = written(tmp_path, "deepseek_v3", first_k_dense_replace=2)  # tokens' experts depend on how many there are
    whole = graph_of(path, "prefill", batch=batch, prompt=ROWS)
    step = graph_of(path, "decode", batch=batch, prompt=ROWS - width, width=width)
    constants, inputs = Constants(whole, {}, 0, {}), inputs_of(whole, 0, {})
    values = reference.real(whole, constants, inputs)
    given = dict[str, Array]()
    for name, value in step.values.items():
        if value.constant and name in whole.values and name.endswith(".weight"):
            given[name] = constants[name]
    for name in whole.values:
        if name.endswith("kv_b_proj.weight"):
            given |= parted(name, constants[name])
    rows = {name: values[f"{name.removesuffix('_cache')}_append"] for name in step.states}
    assert len(rows) == 2
    found = reference.real(step, Constants(step, {}, 1, given), {"input_ids": inputs["input_ids"][:, -width:], **rows})
    wanted = values[whole.outputs[0]][:, -width:]
    assert np.ptp(wanted) > 1
    np.testing.assert_allclose(found[step.outputs[0]], wanted, rtol=1e-9, atol=1e-12)
