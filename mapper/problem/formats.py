"""In which number format each operand of a layer lies, and in which the units compute with it.

A weight has, first that applies, the format that the user asks for, the model's own where that is quantised, and the
chip's for the role. What the user asks for in packed formats holds for weights of products of two axes or more that
nothing else reads; embeddings, the last product (``lm_head``), norms and biases stay in the activations' format.

An array computes with a pair of plain types that it has a rate for. Where it has none for an operand's, a VECTOR
command converts tiles of it to a type that holds every value: to the pair with the fastest rate, then the narrowest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from archsim.base.errors import ConfigError, ModelError
from archsim.facts.number_formats import SCALE_BITS, ElementFormat, element_format
from archsim.ir.workload import Layer, Operand, Tensor, Workload
from archsim.spec.architecture import Architecture, Array
from mapper.problem.packed import (
    BYTES,
    SCALE,
    base_of,
    packed_format,
    scales_of,
    split,
    stated_format,
    why_unpacked,
)

LAST = "lm_head"  # the product that gives the logits
FACTORS = ("a", "b")
_SCALES = ("fp16", "bf16")  # that a message offers
_TOLD = 3  # names in a message


def formatted(workload: Workload, architecture: Architecture, asked: Mapping[str, str]) -> Workload:
    """The workload with the formats that weights are timed in, their scales, and dims cut between groups.

    ``asked``: formats by role as the user states them, before those of the chip. Raises ConfigError for a packed format
    of another role, ModelError naming a weight of the model's own that cannot be read in the groups of its format.
    """
    for role, text in asked.items():
        if role != "weights" and not element_format(text).is_plain:
            raise ConfigError(f"{role}: '{text}' is packed; allowed for weights, here plain formats such as int8")
    dtypes = {**architecture.dtypes, **asked}
    apart = is_apart(architecture, dtypes)
    tensors = _stated(workload, dtypes["weights"] if apart else "", replaced="weights" in asked)
    if tensors is workload.tensors and not any(tensor.format for tensor in tensors.values()):
        return workload
    found = replace(workload, tensors=tensors)
    _check_readers(found)
    scales = [scale for tensor in tensors.values() if (scale := scales_of(tensor)) is not None]
    for scale in scales:
        if tensors.get(scale.name, scale) != scale:
            raise ModelError(f"tensor '{scale.name}' has the name of another one's scales; give it another name")
    found = replace(found, tensors={**tensors, **{scale.name: scale for scale in scales}})
    return replace(found, layers=tuple([split(layer, found) for layer in found.layers]))


def is_apart(architecture: Architecture, dtypes: Mapping[str, str]) -> bool:
    """Whether weights of products are stored in another format than the array and all else read: a packed one, or one
    for which it has no rate beside the inputs."""
    inputs, weights = dtypes.get("inputs", ""), dtypes.get("weights", "")
    if not inputs or not weights:
        return False
    pair = str(element_format(inputs)), str(element_format(weights))
    return not element_format(weights).is_plain or any(pair not in array.rates for array in architecture.arrays[:1])


def _stated(workload: Workload, apart: str, *, replaced: bool) -> Mapping[str, Tensor]:
    """The tensors with the format that weights of products have ``apart`` from others, or with the model's own where
    these are quantised and not ``replaced``."""
    wanted = element_format(apart) if apart else None
    chosen = frozenset[str]() if wanted is None else _packable(workload, wanted)
    found = {}
    for name, tensor in workload.tensors.items():
        kept = tensor.format if not replaced and _is_quantised(tensor.format) else ""
        kept = kept or (BYTES if name.removesuffix(SCALE) in workload.tensors and tensor.format == BYTES else "")
        found[name] = replace(tensor, format=str(wanted) if name in chosen and not kept else kept)
    return workload.tensors if found == workload.tensors else found


def _is_quantised(text: str) -> bool:
    return bool(text) and element_format(text).element not in ("fp16", "bf16", "fp32")


def _packable(workload: Workload, wanted: ElementFormat) -> frozenset[str]:
    """Weights that a format holds for which others have not."""
    found, barred = set[str](), set[str]()
    for layer in workload.layers:
        for operand in layer.inputs:
            base = base_of(workload, operand.tensor)
            tensor = workload.tensors[base]
            if tensor.kind != "weight":
                continue
            fits = layer.kind == "matmul" and operand.name == "b" and operand.role == "weights"
            fits = fits and len(tensor.shape) > 1
            if not wanted.is_plain:
                fits = fits and LAST not in layer.name.split(".")
                fits = fits and not why_unpacked(operand, layer, workload, wanted)
            (found if fits else barred).add(base)
    return frozenset(found - barred)


def _check_readers(workload: Workload) -> None:
    """Products alone read packed weights, row by row."""
    for layer in workload.layers:
        for operand in layer.inputs:
            stated = packed_format(workload, operand.tensor)
            if stated is None:
                continue
            why = f"it is a {layer.kind}" if layer.kind != "matmul" else ""
            why = why or (f"it is its operand '{operand.name}'" if operand.name not in FACTORS else "")
            why = why or why_unpacked(operand, layer, workload, stated)
            if why:
                raise ModelError(
                    f"layer '{layer.name}' ({layer.op}) cannot read '{operand.tensor}' in {stated}: {why}; --dtype "
                    "with weights=FORMAT times it in another one"
                )


def operand_dtype(operand: Operand, workload: Workload, dtypes: Mapping[str, str]) -> str:
    """dtype of an operand as it is stored: a bias has the accumulator's width, activations the inputs', packed ones
    that of bytes."""
    if operand.name == "bias" and operand.role == "weights":
        return dtypes["accumulate"]
    stated = stated_format(workload, operand.tensor)
    if stated:
        return stated if element_format(stated).is_plain else BYTES
    if operand.role in ("weights", "tables", "kv"):
        return dtypes.get(operand.role, dtypes["weights"])
    return dtypes["inputs"]


def operand_format(operand: Operand, workload: Workload, dtypes: Mapping[str, str]) -> ElementFormat:
    """The number format of an operand's elements."""
    return packed_format(workload, operand.tensor) or element_format(operand_dtype(operand, workload, dtypes))


def factors(layer: Layer, workload: Workload, dtypes: Mapping[str, str]) -> tuple[ElementFormat, ElementFormat]:
    """The formats of both factors of a product, a and b."""
    named = {operand.name: operand for operand in layer.inputs}
    a, b = (operand_format(named[name], workload, dtypes) for name in FACTORS)
    return a, b


def pair_of(array: Array, lanes: Collection[str], a: ElementFormat, b: ElementFormat) -> tuple[str, str] | None:
    """The types that an array computes a product of two formats in, each of which is the operand's own or one that the
    ``lanes`` of a vector unit make of it; None where no rate is for types that hold both."""
    first, second = (_candidates(each, lanes) for each in (a, b))
    pairs = [(one, other) for one in first for other in second if (one, other) in array.rates]
    if (str(a), str(b)) in pairs:
        return str(a), str(b)
    return max(pairs, key=lambda pair: (array.rates[pair], -pairs.index(pair)), default=None)


def narrower_scales(array: Array, lanes: Collection[str], a: ElementFormat, b: ElementFormat) -> str:
    """What to do where only the scales of ``b`` have more bits than the array computes in, as the end of a message; ''
    where that is not so."""
    kinds = [kind for kind in (_SCALES if b.block else ()) if SCALE_BITS[kind] < SCALE_BITS[b.scale]]
    fits = [each for each in (replace(b, scale=kind) for kind in kinds) if pair_of(array, lanes, a, each) is not None]
    return f"; --dtype weights={fits[0]} has scales that it computes with" if fits else ""


def _candidates(stored: ElementFormat, lanes: Collection[str]) -> list[str]:
    own = [str(stored)] if stored.is_plain else []
    return [*own, *(each for each in stored.holders if each in lanes)]


def engine_pair(
    layer: Layer, workload: Workload, architecture: Architecture, dtypes: Mapping[str, str]
) -> tuple[str, str]:
    """The types of a and b of a product as the unit that computes it reads them.

    Raises ConfigError naming the pairs that are there where none holds both.
    """
    a, b = factors(layer, workload, dtypes)
    for array in architecture.arrays[:1]:
        found = pair_of(array, lanes_of(architecture), a, b)
        if found is None:
            raise ConfigError(
                f"layer '{layer.name}' ({layer.op}): array '{array.name}' has no rate for {a} inputs x {b} weights, "
                f"nor for types that hold them; there are: {_shown(array.rates)}"
                f"{narrower_scales(array, lanes_of(architecture), a, b)}"
            )
        return found
    if not a.is_plain or not b.is_plain:
        raise ConfigError(
            f"layer '{layer.name}' ({layer.op}): {a} inputs x {b} weights are converted for an array; chip "
            f"'{architecture.name}' has none"
        )
    return str(a), str(b)


def lanes_of(architecture: Architecture) -> Collection[str]:
    """The types that the vector unit has lanes for."""
    return architecture.vectors[0].lanes if architecture.vectors else ()


def is_converted(layer: Layer, workload: Workload, architecture: Architecture, dtypes: Mapping[str, str]) -> bool:
    """Whether a VECTOR command makes one of the factors of a product before the array reads it."""
    if layer.kind != "matmul":
        return False
    a, b = factors(layer, workload, dtypes)
    return (str(a), str(b)) != engine_pair(layer, workload, architecture, dtypes)


def _shown(pairs: Iterable[tuple[str, str]]) -> str:
    return ", ".join(sorted(one if one == other else f"{one}x{other}" for one, other in pairs))
