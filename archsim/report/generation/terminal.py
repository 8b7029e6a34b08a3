"""Generated tokens as JSON, as a few lines and in sentences."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from archsim.report.generation import layouts
from archsim.report.kit import table_terminal
from archsim.report.kit.number_format import count, number, percent, si
from archsim.report.run.headline import formats

Found = Mapping[str, Any]


def to_json(found: Found) -> str:
    """The JSON text without a closing newline."""
    return json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False)


def to_table(found: Found, width: int | None = None) -> str:
    """Title, what was asked, what came of it, and the tables, of ``width`` columns at most."""
    lines = [title(found), *setting(found), *says(found)]
    made = layouts.tables(found).values()
    warnings = [f"warning: {text}" for text in found["provenance"]["warnings"]]
    return "\n".join([*lines, *(line for table in made for line in table_terminal.text(table, width)), *warnings])


def title(found: Found) -> str:
    """``llama3_8b on mtia_v2i``."""
    return f"{found['model']} on {found['architecture']['name']}"


def setting(found: Found) -> list[str]:
    """What was asked."""
    asked = found["asked"]
    behind = f"behind {count(asked['prompt'])} rows"
    if found["prefill"] is not None:
        behind = f"after a prompt of {count(asked['prompt'])} rows"
    rows = "row" if asked["width"] == 1 else "rows"
    steps = "step" if asked["tokens"] == 1 else "steps"
    options = found["provenance"]["options"]
    told = [f"objective {options['objective']}", *(f"{key}={value}" for key, value in options["set"].items())]
    if options["dtypes"]:
        told.insert(0, f"{formats(options['dtypes'])}, {options['dtypes']['kv']} keys and values")
    return [
        f"{count(asked['tokens'])} {steps} of {asked['width']} new {rows} {behind}; batch {asked['batch']}, room for "
        f"{count(asked['context'])} rows",
        "; ".join(told),
    ]


def says(found: Found) -> list[str]:
    """What came of it, in sentences."""
    told = found["generation"]
    first, last = found["steps"][0], found["steps"][-1]
    said = [] if told["ttft_s"] is None else [f"The first token is there after {si(told['ttft_s'], 's')}."]
    said.append(
        f"A token then takes {si(told['tpot_s'], 's')} on average. In all {number(told['tokens_per_s'])} tokens come "
        f"out each second, for {si(told['energy_per_token_j'], 'J')} each."
    )
    if last["step"] > first["step"]:
        longer = last["latency_s"] / first["latency_s"] - 1
        said.append(
            f"The last step, behind {count(last['past'])} rows, takes {percent(abs(longer))} "
            f"{'longer' if longer >= 0 else 'less'} than the first, behind {count(first['past'])}."
        )
    if last["dram_share"] is not None:
        said.append(
            f"The last step uses {percent(last['dram_share'])} of the DRAM bandwidth, and reads "
            f"{si(last['kv_read_bytes'], 'B')} of keys and values."
        )
    return said
