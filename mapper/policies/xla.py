"""XLA on a TPU: a model is one executable; operands that fit into the vector memory are copied whole before a product.

What does not fit, and the result, stream beside the product. A product of one row is a multiplication and a sum of the
vector unit, which streams everything. The share of the vector memory that operands fill is the platform's ``prefetch``.

Source: measured GEMMs of TPU v6e and v4 (studies/validation/silicon): a product whose weights just fit takes longer
than one whose weights do not, and time grows with the operands' bytes added to the product's, not hidden behind it.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod

from archsim.ir.workload import Layer, Workload
from archsim.spec.architecture import Architecture
from mapper.policies.catalogue import LayerRestriction, ScheduleRestriction

PLATFORM_KEYS = ("prefetch",)
ONE_KERNEL = True
USUAL_PREFETCH = Fraction(3, 4)  # of the vector memory, where the platform states no ``prefetch``


def restrict(workload: Workload, chip: Architecture) -> ScheduleRestriction:
    """Products copy their operands first; those of one row run on the chip's first vector unit, if it has one."""
    stated = chip.platforms[chip.platform].prefetch if chip.platform else None
    share = USUAL_PREFETCH if stated is None else stated
    found = {layer.name: _product(layer, chip, share) for layer in workload.layers if layer.kind == "matmul"}
    return ScheduleRestriction(found)


def _product(layer: Layer, chip: Architecture, share: Fraction) -> LayerRestriction:
    if prod(layer.dims[dim] for dim in layer.m) == 1 and chip.vectors:
        return LayerRestriction(units=(chip.vectors[0].name,))
    return LayerRestriction(units=tuple(array.name for array in chip.arrays[:1]), prefetch=share)
