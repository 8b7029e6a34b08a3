"""Energy of DRAM commands from the currents of a data sheet (IDD), in the devices alone: without I/O and termination.

E(activate) = VDD (IDD0 tRC - IDD3N tRAS - IDD2N tRP), the precharge included; E(read) = VDD (IDD4R - IDD3N) tBL,
E(write) with IDD4W; E(refresh) = VDD (IDD5 - IDD3N) tRFC; standing power VDD IDD3N while a row of the rank is open,
VDD IDD2N while none is. Source: Micron TN-41-01 and TN-40-07; DRAMsim3 computes the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from archsim.base.errors import ConfigError
from archsim.energy.technology import TableFigures
from archsim.spec import schema_tables, table_files


@dataclass(frozen=True, slots=True)
class DramCurrents:
    """Of one device, in mA and V; ``devices`` work in step on a channel of ``width_bits``."""

    devices: float
    vdd_v: float
    idd0_ma: float
    idd2n_ma: float
    idd3n_ma: float
    idd4r_ma: float
    idd4w_ma: float
    idd5_ma: float
    width_bits: float
    source: str


@dataclass(frozen=True, slots=True)
class CommandEnergy:
    """Of a rank of one channel: pJ a command, mW while a row is open and while none is."""

    activate_pj: float
    read_pj: float
    write_pj: float
    refresh_pj: float
    open_mw: float
    closed_mw: float


def load_currents(standard: str) -> DramCurrents:
    """The currents of a standard in configs/dram; raises ConfigError where its table has none."""
    path = table_files.find("dram", standard, "DRAM energy table")
    table = table_files.load(path, schema_tables.DramEnergyTable)
    if table.currents is None:
        raise ConfigError(f"{path}:1: currents: missing; allowed a mapping of the currents of a data sheet")
    stated = table.currents.model_dump()
    return DramCurrents(**stated | {"source": TableFigures(table.sources).source(table.currents.source)})


def per_command(c: DramCurrents, *, ras_ns: float, rp_ns: float, burst_ns: float, rfc_ns: float) -> CommandEnergy:
    """The formulas above; mA x V x ns = pJ."""
    all_devices = c.vdd_v * c.devices
    row = c.idd0_ma * (ras_ns + rp_ns) - c.idd3n_ma * ras_ns - c.idd2n_ma * rp_ns
    return CommandEnergy(
        activate_pj=all_devices * row,
        read_pj=all_devices * (c.idd4r_ma - c.idd3n_ma) * burst_ns,
        write_pj=all_devices * (c.idd4w_ma - c.idd3n_ma) * burst_ns,
        refresh_pj=all_devices * (c.idd5_ma - c.idd3n_ma) * rfc_ns,
        open_mw=all_devices * c.idd3n_ma,
        closed_mw=all_devices * c.idd2n_ma,
    )
