"""A workload's text form, read and judged as a whole: what the checker refuses is said with its place in the file."""

from __future__ import annotations

from archsim.base.errors import ModelError
from archsim.ir.check.workload import check_workload
from archsim.ir.forms.fields import MOST
from archsim.ir.forms.workload import workload_from_yaml
from archsim.ir.workload import Workload
from archsim.spec.nodes import Node, parse


def checked_workload(text: str, path: str = "<text>") -> Workload:
    """The Workload of a text, checked. Raises ConfigError, and ModelError with the place of the layer or tensor."""
    workload = workload_from_yaml(text, path)
    try:
        check_workload(workload)
    except ModelError as error:
        raise ModelError(f"{_place(parse(text, path, MOST), str(error))}: {error}") from None
    return workload


def _place(root: Node, said: str) -> str:
    """Where the layer or tensor stands that a message begins with; the document where it names none."""
    for name, node in root.mapping["tensors"].mapping.items():
        if said.startswith(f"tensor '{name}'"):
            return f"{node.mark}: tensors.{name}"
    for number, layer in enumerate(root.mapping["layers"].items):
        called = layer.mapping["name"].value
        if said.startswith(f"layer '{called}'"):
            return f"{layer.mark}: layers[{number}]"
    return str(root.mark)
