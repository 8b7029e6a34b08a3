"""The best where the space allows more than the references: energy-delay products, and the largest that is acceptable.

python studies/benchmarks/mapping_better.py
"""

from __future__ import annotations

from dataclasses import dataclass

from archsim.lab.validate.mapping import BUSIEST
from archsim.lab.validate.mapping_files import read
from archsim.lab.validate.suite import default_reference
from mapper.looptree.conventions import ACCELFORGE
from mapper.looptree.einsum import gemm
from mapper.looptree.search.found import Found
from mapper.looptree.search.objective import EDP
from mapper.looptree.search.optimal import search
from mapper.looptree.search.space import Space
from mapper.looptree.text import write


@dataclass(frozen=True)
class Case:
    """A matrix product m x k x n. ``any_factors``: none needs to divide, and the busiest instance counts; else nodes of
    different memories are interleaved. ``edp_js``: J s that must be reached."""

    accelerator: str
    product: tuple[int, int, int]
    any_factors: bool
    edp_js: float

    @property
    def space(self) -> Space:
        """What is searched."""
        file = f"{self.accelerator}_gemm_128_768_3072_edp.json"
        hierarchy = read(default_reference("mapping") / "accelforge" / file).hierarchy
        if self.any_factors:
            return Space(gemm(*self.product), hierarchy, BUSIEST, "any")
        return Space(gemm(*self.product), hierarchy, ACCELFORGE)

    def found(self) -> Found:
        """The optimum."""
        return search(self.space, EDP)


CASES = (
    Case("eyeriss", (128, 768, 3072), False, 1.70e-5),
    Case("tl_eyeriss", (128, 768, 3072), False, 1.55e-6),
    Case("nvdla", (1000, 1000, 1000), True, 2.78e-7),
    Case("nvdla", (4096, 4096, 4096), True, 1.26e-3),
    Case("simple2", (197, 768, 768), True, 3.08e-7),
)


def main() -> None:
    """Print the table and the mappings."""
    for case in CASES:
        found = case.found()
        kind = "any factors" if case.any_factors else "interleaved"
        proof = "proven" if found.proven else "not proven"
        product = "x".join(map(str, case.product))
        print(f"{case.accelerator} {product} {kind}: {found.value:.4e} J s (at most {case.edp_js:.2e}), {proof}")
        print(f"  {write(found.nest)}")


if __name__ == "__main__":
    main()
