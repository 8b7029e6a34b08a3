"""Reads a workload file:

    schema: archsim.workload/1
    name: small_net
    description: shown by ``archsim show models``
    source: "estimated: why these sizes"
    parameters: {batch: 1, size: 96}             # usable in every size and in one another; --batch sets ``batch``
    inputs: {image: [batch, 3, size, size]}      # logical shapes: N, C, H, W
    states: {keys: {shape: [batch, heads, context, width], past: past}}   # rows that live on, of ``append``
    layers:
      - conv: {name: stem, out_channels: 16, kernel: 3, stride: 2, pad: 1, act: relu}
      - flatten: {}
      - einsum: "b k, k n -> b n"                # the option that matters most may stand alone
        sizes: {n: 10}
    outputs: [einsum2]                           # default: every result that nothing reads

An entry without ``input`` reads the result before it. The kinds and their options are in ``layers.py``; ``repeat``,
entries that come several times, is in ``entries.py``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from archsim.base.errors import ModelError, nearest, placed
from archsim.frontend.workload_yaml.entries import add_entries
from archsim.frontend.workload_yaml.grammar import WORKLOAD
from archsim.frontend.workload_yaml.options import EntryOptions
from archsim.frontend.workload_yaml.parameters import resolved
from archsim.frontend.workload_yaml.states import add_states
from archsim.frontend.workload_yaml.writer import GraphWriter
from archsim.graph.lowering.lower import LoweredModel, lower_graph
from archsim.ir.graph import Graph
from archsim.ir.text import checked_workload
from archsim.spec.nodes import FileNode as Text
from archsim.spec.nodes import decoded, read

SCHEMA = WORKLOAD
EXPLICIT = "archsim.einsums/1"  # the full text form that ``archsim.ir.text`` writes


def import_workload_yaml(
    path: Path,
    *,
    batch: int | None = None,
    parameters: Mapping[str, int] | None = None,
    lookups: Mapping[str, str] | None = None,
) -> LoweredModel:
    """Import a workload file. ``batch`` and ``parameters`` replace values of the file's ``parameters``, ``lookups`` the
    access patterns of embeddings by name.

    Raises ConfigError with file:line:column and key path.
    """
    document = read(path)
    options = EntryOptions(document, "workload", {})
    if options.text("schema", None, (SCHEMA, EXPLICIT)) == EXPLICIT:
        if lookups:
            options.fail(f"schema {EXPLICIT} states every access pattern; allowed without --lookups", "schema")
        return _explicit(path, options, batch, parameters)
    name = options.text("name", path.stem)
    for key in ("description", "source"):
        options.text(key, "")
    sizes = _parameters(document, options, dict(parameters or {}), batch)
    writer = GraphWriter()
    _add_inputs(document, options, sizes, writer)
    add_states(writer, options, sizes)
    add_entries(writer, options, sizes)
    outputs = options.names("outputs") or _unread(writer)
    options.finish()
    graph = Graph(
        name=name,
        nodes=tuple(writer.nodes),
        values=writer.graph_values(),
        inputs=(*writer.inputs, *writer.states),
        outputs=tuple(writer.known(options, output, "outputs") for output in outputs),
        states=writer.states,
    )
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    try:
        return lower_graph(graph, batch=sizes.get("batch", 1), sha256=digest, lookups=lookups)
    except ModelError as error:
        raise placed(error, _place(writer, options, str(error))) from None


def _place(writer: GraphWriter, options: EntryOptions, said: str) -> str:
    """Where the entry stands whose node a message begins with; the document where it names none."""
    named = re.match(r"node '([^']*)'", said)
    return writer.places.get(named[1] if named else "", options.place)


def describe(path: Path) -> str:
    """The ``description`` of a workload file, '' if it has none."""
    return EntryOptions(read(path), "workload", {}).text("description", "")


def _explicit(
    path: Path, options: EntryOptions, batch: int | None, parameters: Mapping[str, int] | None
) -> LoweredModel:
    """A file in the full text form: read as it stands."""
    workload = checked_workload(decoded(path.read_bytes(), path), str(path))
    if parameters or batch not in (None, workload.batch):
        options.fail(
            f"schema {EXPLICIT} states every extent (batch {workload.batch}); allowed without --batch", "schema"
        )
    return LoweredModel(workload, None, {}, {})


def _parameters(document: Text, options: EntryOptions, given: dict[str, int], batch: int | None) -> dict[str, int]:
    stated = document.mapping["parameters"].mapping if "parameters" in document.mapping else {}
    if batch is not None and (batch > 1 or "batch" in stated):  # without the parameter the batch is 1
        given["batch"] = batch
    for key in given:
        if key not in stated:
            options.fail(f"has no parameter '{key}' to set; known: {', '.join(stated) or 'none'}{nearest(key, stated)}")
    return resolved(document, options, given)


def _add_inputs(document: Text, options: EntryOptions, sizes: dict[str, int], writer: GraphWriter) -> None:
    if not options.has("inputs"):
        return
    node = document.mapping["inputs"]
    if not isinstance(node.value, dict):
        options.fail("found no mapping; allowed names with their shapes: {image: [batch, 3, 96, 96]}", "inputs")
    shapes = EntryOptions(node, "inputs", sizes)
    for name in node.mapping:
        writer.add_input(name, shapes.sizes(name))


def _unread(writer: GraphWriter) -> tuple[str, ...]:
    read_names = {name for node in writer.nodes for name in node.inputs}
    return tuple(name for node in writer.nodes for name in node.outputs if name not in read_names)
