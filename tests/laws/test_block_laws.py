"""Laws of blocks in the text form of Workloads: they are the list of their layers, which is written here by loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archsim
from archsim.ir.forms.workload import checked_workload, workload_to_yaml

ROWS, WIDTH = 4, 8
HEAD = 'schema: archsim.einsums/1\nname: net\nbatch: 1\nparameters: 0\nsha256: ""\n'
WEIGHTS = ("w_up", "w_mix", "w_down")


@dataclass(frozen=True)
class Net:
    """``times`` iterations of: a row is kept in a state, ``up``, ``mixes`` times ``mix`` (0: none), ``down``, a sum.

    ``own``: weights of which each iteration has its own; ``mix_own``: each time of ``mix`` too; ``star``: names have
    numbers between dots; ``ends``: the last sum is the network's output.
    """

    times: int
    mixes: int
    own: frozenset[str]
    mix_own: bool
    star: bool
    ends: bool

    def called(self, number: int, name: str) -> str:
        return f"net.{number}.{name}" if self.star else f"net[{number}].{name}"


def layer(name: str, a: str, b: str, out: str, epilogue: str = "") -> list[str]:
    beside = [f"- epilogue = {epilogue}(m, n) as inputs"] if epilogue else []
    steps = ["steps:", "- requantise(in0) passes 1", "- add(in1) passes 1"] if epilogue else []
    return [
        f"- name: {name}", "  op: MatMul", "  kind: matmul", f"  dims: {{m: {ROWS}, n: {WIDTH}, k: {WIDTH}}}",
        "  nest: m(m) n(n) k(k)", "  inputs:", f"  - a = {a}(m, k) as inputs", f"  - b = {b}(n, k) as weights",
        *(f"  {line}" for line in beside), f"  output: out = {out}(m, n) as outputs",
        *(f"  {line}" for line in steps), f"  fused: ['{name}_nothing']",
    ]  # fmt: skip


def append(name: str, row: str, rows: str) -> list[str]:
    return [
        f"- name: {name}", "  op: Append", "  kind: copy", f"  dims: {{r: 1, c: {WIDTH}}}",
        "  inputs:", f"  - in0 = {row}(r, c) as inputs", f"  output: out = {rows}(r, c) as kv",
    ]  # fmt: skip


def head(flat: str) -> list[str]:
    return [
        "- name: head", "  op: Relu", "  kind: vector", f"  dims: {{c: {ROWS * WIDTH}}}", "  inputs:",
        f"  - in0 = {flat}(c) as inputs", "  output: out = z(c) as outputs", "  steps:", "  - relu passes 1",
    ]  # fmt: skip


def tensor(name: str, base: str = "") -> str:
    """The declaration of a tensor by its own name; ``base`` of a view."""
    kind = name.rpartition(".")[2]
    matrix = f"[{ROWS}, {WIDTH}]"
    return {
        "x": f"input {matrix}",
        "keys": f"state [3, {WIDTH}] axis 0 past 2",
        "row": f"state [1, {WIDTH}] view {base} offset {2 * WIDTH} strides [{WIDTH}, 1]",
        "again": f"input {matrix} view {base} offset 0 strides [{WIDTH}, 1]",
        "flat": f"activation [{ROWS * WIDTH}] view {base} offset 0 strides [1]",
        "z": f"output [{ROWS * WIDTH}]",
        **dict.fromkeys(WEIGHTS, f"weight [{WIDTH}, {WIDTH}]"),
    }.get(kind, f"activation {matrix}")


def block_text(net: Net) -> str:
    """The network as a person states it."""
    bases = {"row": "keys", "again": "x", "flat": "y"}
    names = ["x", "keys", "row", "again", "w_up", "u", *(["w_mix", "v"] if net.mixes else []), "w_down", "y"]
    names += [] if net.ends else ["flat", "z"]
    declared = {name: tensor(name, bases.get(name, "")) for name in names}
    if net.ends:
        declared["y"] = f"output [{ROWS}, {WIDTH}]"
    lines = [HEAD + "tensors:", *(f"  {name}: {text}" for name, text in declared.items()), "layers:"]
    inner = [
        "- block:", "    name: mix", f"    times: {net.mixes}", "    carry: {v: u}",
        *(["    own: [w_mix]"] if net.mix_own else []), "    layers:",
        *(f"    {line}" for line in layer("mix", "u", "w_mix", "v")),
    ]  # fmt: skip
    own = [name for name in WEIGHTS if name in net.own and (name != "w_mix" or (net.mixes and not net.mix_own))]
    lines += ["- block:", f"    name: {'net.*' if net.star else 'net'}", f"    times: {net.times}"]
    lines += ["    carry: {y: x}", f"    own: [{', '.join(['keys', *own])}]", "    layers:"]
    inside = append("keep", "x", "row") + layer("up", "again", "w_up", "u") + (inner if net.mixes else [])
    inside += layer("down", "v" if net.mixes else "u", "w_down", "y", "x")
    lines += [f"    {line}" for line in inside]
    lines += ["    composites:", "    - {name: pair, kind: gated_mlp, layers: [up, down]}"]
    return "\n".join([*lines, *([] if net.ends else head("flat"))]) + "\n"


def listed_text(net: Net) -> str:
    """The same, layer by layer."""
    tensors, layers, composites = {"x": tensor("x")}, list[str](), list[str]()
    for number in range(net.times):
        taken = net.called(number - 1, "y") if number else "x"

        def own(name: str, number: int = number) -> str:
            return net.called(number, name)

        tensors[own("keys")] = tensor("keys")
        tensors[own("row")] = tensor("row", own("keys"))
        tensors[own("again")] = tensor("again", taken).replace("input", "activation" if number else "input")
        layers += append(own("keep"), taken, own("row"))
        weight = {name: own(name) if name in net.own else name for name in WEIGHTS}
        tensors.setdefault(weight["w_up"], tensor("w_up"))
        tensors[own("u")] = tensor("u")
        layers += layer(own("up"), own("again"), weight["w_up"], own("u"))
        made = own("u")
        for time, mixed, used in mixes(net, number, weight["w_mix"]):
            tensors.setdefault(used, tensor("w_mix"))
            tensors[mixed] = tensor("v")
            layers += layer(own(f"mix[{time}].mix"), made, used, mixed)
            made = mixed
        tensors.setdefault(weight["w_down"], tensor("w_down"))
        last = net.ends and number == net.times - 1
        tensors[own("y")] = f"{'output' if last else 'activation'} [{ROWS}, {WIDTH}]"
        layers += layer(own("down"), made, weight["w_down"], own("y"), taken)
        composites.append(f"- {{name: '{own('pair')}', kind: gated_mlp, layers: ['{own('up')}', '{own('down')}']}}")
    if not net.ends:
        tensors["flat"] = tensor("flat", net.called(net.times - 1, "y"))
        tensors["z"] = tensor("z")
        layers += head("flat")
    declared = [f"  {name}: {text}" for name, text in tensors.items()]
    return "\n".join([HEAD + "tensors:", *declared, "layers:", *layers, "composites:", *composites]) + "\n"


def mixes(net: Net, number: int, shared: str) -> Iterator[tuple[int, str, str]]:
    """Of each time: its number, what it makes, its weight."""
    for time in range(net.mixes):
        own = net.called(number, f"mix[{time}].w_mix")
        yield time, net.called(number, f"mix[{time}].v"), own if net.mix_own else shared


NETS = st.builds(
    Net, st.integers(1, 4), st.integers(0, 3), st.frozensets(st.sampled_from(WEIGHTS)), *[st.booleans()] * 3
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(NETS)
def test_law_51_a_block_is_the_list_of_its_layers(net: Net) -> None:
    """Law 51: a block of N is the unrolled list: layers, tensors in their order, composites, as written by loops."""
    block, listed = checked_workload(block_text(net)), checked_workload(listed_text(net))
    assert block == listed
    assert [*block.tensors] == [*listed.tensors]
    for text in (workload_to_yaml(block), workload_to_yaml(listed)):
        assert checked_workload(text) == listed


@pytest.mark.slow
@pytest.mark.parametrize(
    "net", [Net(3, 2, frozenset(WEIGHTS), True, False, True), Net(4, 0, frozenset(), False, True, False)]
)
def test_law_51_and_takes_as_long(net: Net, tmp_path: Path) -> None:
    """Law 51: simulated, a block of N is the unrolled list bit for bit: cycles, bytes and energy of every layer."""
    found = []
    for number, text in enumerate((block_text(net), listed_text(net))):
        path = tmp_path / f"net{number}.yaml"
        path.write_text(text)
        done = archsim.run(str(path), on="edge_npu", repeat="exact", net=False)
        found.append({key: value for key, value in done.summary.items() if key not in ("model", "provenance")})
    assert found[0]["cycles_total"] > 0 and len(found[0]["layers"]) >= 2 * net.times
    assert found[0] == found[1]
