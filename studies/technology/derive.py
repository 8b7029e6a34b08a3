"""The technology tables of the nodes that nobody published whole, from those of 45 and 7 nm.

python studies/technology/derive.py [--write]

Without ``--write`` it prints the tables. The rules:

- Between 45 and 7 nm an energy is on the power law of the node through its two figures there. Chained claims of
  foundries, and Stillmaker's and Baas's gains, make 16, 12 and 7 nm two to five times better than products are.
- At 65 nm an energy is 1.85 times that of 45 nm: CACTI 7 reads 65 / 45 nm as 1.81 to 1.89.
- Below 7 nm there is only what the foundry claims at equal speed, so each figure there is a bound of the gain.
- Leakage has no claim: between the nodes the power law, beyond them the nearest node's figure.
- Supplies, cells and densities of logic are published for each node, or recalled.
"""

from __future__ import annotations

import argparse
from math import log
from pathlib import Path
from typing import Any, NamedTuple

import yaml

FOLDER = Path(__file__).resolve().parents[2] / "configs" / "technology"
HIGH, LOW = 45, 7
UP = 1.85
STATUSES = ("measured", "derived", "claimed", "estimated")  # the surest first
CLAIMS = {
    5: (0.7, "TSMC: N5 takes 30 % less power than N7 at equal speed"),
    4: (0.65, "TSMC: N5 takes 30 % less power than N7 at equal speed, and N4 about 7 % less than N5"),
    3: (0.462, "TSMC: N5 takes 30 % less power than N7 at equal speed, and N3E 34 % less than N5"),
}


class Own(NamedTuple):
    """A figure that each node has for itself."""

    value: float
    status: str
    source: str


_CSET = "CSET, AI Chips (2020), as LLMCompass's supply_chain_model.py has it"
VOLTAGE = {
    65: Own(1.0, "measured", "Y.-H. Chen et al., Eyeriss, JSSC 2017: 1.0 V"),
    28: Own(0.9, "estimated", "estimated: nominal supply of 28 nm high-performance processes, as recalled"),
    16: Own(0.8, "estimated", "estimated: nominal supply of 16 nm FinFET processes, as recalled"),
    12: Own(0.8, "estimated", "estimated: as 16 nm"),
    5: Own(0.75, "estimated", "estimated: as 7 nm; MTIA 2i runs at 0.85 V (ISCA'25 Table 2)"),
    4: Own(0.75, "estimated", "estimated: as 5 nm"),
    3: Own(0.75, "estimated", "estimated: as 5 nm"),
}
CELL = {
    65: Own(0.525, "estimated", "estimated: high-density 6T cell of TSMC's 65 nm, as recalled"),
    28: Own(0.127, "measured", "TSMC, 28 nm high-density 6T cell (2009)"),
    16: Own(0.074, "measured", "TSMC, IEDM 2014: 6T cell of 16 nm"),
    12: Own(0.064, "estimated", "estimated: cell of GlobalFoundries' 12LP, as recalled"),
    5: Own(0.021, "measured", "TSMC, IEDM 2019: high-density 6T cell"),
    4: Own(0.021, "derived", "as 5 nm"),
    3: Own(0.0199, "measured", "TSMC, IEDM 2022: high-density 6T cell of N3B"),
}
DENSITY = {
    65: Own(3.3, "measured", _CSET),
    28: Own(15.3, "measured", _CSET),
    16: Own(28.9, "measured", f"{_CSET} (its row of 14 nm)"),
    12: Own(28.9, "derived", "as 16 nm: NVIDIA's GV100 (12 nm) has 25.9, GP100 (16 nm) 25.1 MTr/mm2 over the die"),
    5: Own(138.2, "measured", _CSET),
    4: Own(147.0, "claimed", "TSMC: N4 shrinks N5 by 6 %"),
    3: Own(197.0, "claimed", "TSMC: N3 has 1.3 to 1.6 times the density of N5"),
}


class Node:
    """The rule of one node: figures at 45 and 7 nm to that at the node."""

    def __init__(self, node: int) -> None:
        """``node``: nm."""
        self.node = node

    def energy(self, high: Any, low: Any) -> dict[str, Any]:
        """A figure of energy."""
        value, status, source = self._energy(high["value"], low["value"])
        return {"value": value, "status": _worse(status, self._of(high, low)), "source": source}

    def _of(self, high: Any, low: Any) -> str:
        if self.node > HIGH:
            return str(high["status"])
        return str(low["status"]) if self.node < LOW else _worse(high["status"], low["status"])

    def _energy(self, high: float, low: float) -> tuple[float, str, str]:
        if self.node > HIGH:
            return _round(UP * high), "derived", "up"
        if self.node < LOW:
            return _round(CLAIMS[self.node][0] * low), "claimed", "claim"
        return _round(between(high, low, self.node)), "derived", "law"

    def point(self, column: str, high: float, low: float) -> float:
        """A figure of an SRAM's points."""
        if column == "leakage_uw":
            return self.leakage(high, low)
        return self._energy(high, low)[0]

    def leakage(self, high: float, low: float) -> float:
        """Static power, of logic by area or of a bank."""
        if self.node > HIGH:
            return high
        return low if self.node < LOW else _round(between(high, low, self.node))


def between(high: float, low: float, node: float) -> float:
    """The power law of the node through figures at 45 and at 7 nm."""
    return float(low * (node / LOW) ** (log(high / low) / log(HIGH / LOW)))


def table(node: int) -> dict[str, Any]:
    """The table of a node, as its file states it."""
    high, low = (read(each) for each in (HIGH, LOW))
    rule, volts = Node(node), VOLTAGE[node]
    wire = {
        "value": _round(0.1 * volts.value**2),
        "status": "estimated",
        "source": f"estimated: C V^2 / 2 with 0.2 pF/mm and {volts.value:g} V: half of the bits of random data change, "
        "repeaters double the wire's own charge",
    }
    leakage = {
        "value": rule.leakage(*(each["logic"]["leakage_mw_per_mm2"]["value"] for each in (high, low))),
        "status": "estimated" if node > HIGH or node < LOW else "derived",
        "source": "beyond" if node > HIGH or node < LOW else "law",
    }
    same = {"status": "estimated", "source": "estimated: as 7 nm"}
    return {
        "schema": "archsim.technology/2",
        "name": f"{node}nm",
        "description": f"{node} nm, {_what(node)}",
        "sources": _sources(node),
        "voltage_v": volts._asdict(),
        "arithmetic": {
            dtype: {key: rule.energy(high["arithmetic"][dtype][key], unit[key]) for key in ("multiply_pj", "add_pj")}
            for dtype, unit in low["arithmetic"].items()
        },
        "logic": {"density_mtr_per_mm2": DENSITY[node]._asdict(), "leakage_mw_per_mm2": leakage},
        "registers": {"pj_per_bit": rule.energy(high["registers"]["pj_per_bit"], low["registers"]["pj_per_bit"])},
        "wire": {"pj_per_bit_mm": wire},
        "router": {
            "crossbar_track_um": {
                "value": _round(between(*(each["router"]["crossbar_track_um"]["value"] for each in (high, low)), node)),
                "status": "estimated",
                "source": "the power law of the node through the estimates at 45 and 7 nm",
            },
            "arbitration_share": {"value": low["router"]["arbitration_share"]["value"], **same},
        },
        "sram": {
            "cell_um2_per_bit": CELL[node]._asdict(),
            "columns": low["sram"]["columns"],
            **{key: _points(rule, high["sram"], low["sram"], key) for key in ("word_64", "word_256")},
            "extra_port": {"value": low["sram"]["extra_port"]["value"], **same},
        },
        "host": {
            "pj_per_flop": rule.energy(high["host"]["pj_per_flop"], low["host"]["pj_per_flop"]),
            "link_pj_per_bit": {"value": low["host"]["link_pj_per_bit"]["value"], **same},
        },
    }


def _points(rule: Node, high: Any, low: Any, key: str) -> dict[str, Any]:
    columns = low["columns"]
    rows = [
        [below[0], *(rule.point(name, above[i], below[i]) for i, name in enumerate(columns) if i)]
        for above, below in zip(high[key]["points"], low[key]["points"], strict=True)
    ]
    claimed = rule.node < LOW
    return {"status": "claimed" if claimed else "derived", "source": "sram", "points": rows}


def _what(node: int) -> str:
    if node > HIGH:
        return "1.85 times the energies of 45 nm"
    return "the foundry's claims from 7 nm: bounds of the gain" if node < LOW else "power laws through 45 and 7 nm"


def _sources(node: int) -> dict[str, str]:
    if node > HIGH:
        return {
            "up": "1.85 x the figure at 45 nm: CACTI 7 reads 65 / 45 nm as 1.81 to 1.89",
            "sram": "CACTI 7's points at 45 nm x 1.85; leakage as there",
            "beyond": "as 45 nm",
        }
    if node < LOW:
        share, claim = CLAIMS[node]
        return {
            "claim": f"{share:g} x the figure at 7 nm ({claim}): a bound of the gain",
            "sram": f"CACTI 7's points at 7 nm x {share:g} ({claim}); leakage as there",
            "beyond": "as 7 nm",
        }
    law = "the power law of the node through the figures at 45 and 7 nm"
    return {"law": law, "sram": f"{law}, each of CACTI 7's points"}


def _worse(one: str, other: str) -> str:
    return max(one, other, key=STATUSES.index)


def _round(value: float) -> float:
    return float(f"{value:.4g}")


def read(node: int) -> Any:
    """A table as it stands."""
    return yaml.safe_load((FOLDER / f"{node}nm.yaml").read_text(encoding="utf-8"))


class _Dumper(yaml.SafeDumper):
    """Figures and rows on one line."""

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> yaml.MappingNode:
        """A figure on one line."""
        return super().represent_mapping(tag, mapping, flow_style="value" in mapping)

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> yaml.SequenceNode:
        """A row on one line."""
        return super().represent_sequence(tag, sequence, flow_style=not isinstance(sequence[0], list))


def text(node: int) -> str:
    """The file of a node."""
    head = "# Written by studies/technology/derive.py from the tables of 45 and 7 nm; its rules are there.\n"
    return head + yaml.dump(table(node), Dumper=_Dumper, sort_keys=False, width=10**6, allow_unicode=True)


def main() -> None:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write configs/technology")
    write = parser.parse_args().write
    for node in VOLTAGE:
        if write:
            (FOLDER / f"{node}nm.yaml").write_text(text(node), encoding="utf-8")
        else:
            print(text(node))


if __name__ == "__main__":
    main()
