"""Configurations of the reference runs (configs.json) as devices, policies and address maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archsim.base.errors import ConfigError
from archsim.facts.dram.address import by_name
from archsim.facts.dram.device import (
    AddressMap,
    CommandProtocol,
    ControllerPolicy,
    DramChannel,
    DramLevel,
    TimingConstraint,
)

_LEVELS: dict[str, DramLevel] = {
    "Channel": "channel",
    "Rank": "rank",
    "PseudoChannel": "rank",
    "BankGroup": "bankgroup",
    "Bank": "bank",
}
_PROTOCOLS: dict[str, CommandProtocol] = {"GenericDDR": "single", "LPDDR5": "split", "HBM12": "dual"}
_REFRESH: dict[str, Any] = {"AllBank": "all_bank", "PerBank": "per_bank", "NoRefresh": "none"}


def read(
    name: str, config: Mapping[str, Any], request_bytes: int
) -> tuple[DramChannel, AddressMap, ControllerPolicy, int]:
    """Device, address map, policy and number of channels; raises ConfigError for what is not modelled."""
    try:
        device = _device(config, request_bytes)
        controller = config["controller"]
        mapping = by_name(controller["addr_mapper"]["impl"], device)
        _refuse(controller["row_policy"]["impl"] == "Open", "row policy", controller["row_policy"]["impl"], "Open")
        scheduler = controller["scheduler"]["impl"]
        _refuse(scheduler == "FRFCFS", "scheduler", scheduler, "FRFCFS")
        interleave = config.get("channel_mapper", {}).get("interleave_bits", 0)
        _refuse(interleave == 0, "interleave_bits", interleave, "0")
        policy = ControllerPolicy(
            read_queue=controller["read_buffer_size"],
            write_queue=controller["write_buffer_size"],
            write_high=controller["wr_high_watermark"],
            write_low=controller["wr_low_watermark"],
            refresh=_known(_REFRESH, "refresh manager", controller["refresh_manager"]["impl"]),
        )
    except (KeyError, TypeError, ZeroDivisionError) as error:
        raise ConfigError(f"configuration '{name}': {type(error).__name__} {error}; see configs.json's form") from None
    return device, mapping, policy, config["channels"]


def _device(config: Mapping[str, Any], request_bytes: int) -> DramChannel:
    organisation, timing = config["organisation"], config["timing_cycles"]
    counts = organisation["count_per_level"]
    protocol = _known(_PROTOCOLS, "controller", config["controller"]["impl"])
    burst = config["read_latency_cycles"] - timing["nCL"]
    synchronises = config["controller"].get("wck_sync_mode", "need_sync") == "need_sync"
    return DramChannel(
        standard=config["standard"],
        clock_hz=round(10**12 / timing["tCK_ps"]),
        ranks=counts.get("rank", 1) * counts.get("pseudochannel", 1),
        groups=counts.get("bankgroup", 1),
        banks=counts["bank"],
        columns=counts["column"] * organisation["channel_width_bits"] // (8 * request_bytes),
        burst_bytes=request_bytes,
        protocol=protocol,
        read_latency=timing["nCL"],
        write_latency=timing["nCWL"],
        burst_cycles=burst,
        refresh_cycles=timing["nREFI"],
        constraints=tuple(_constraint(item) for item in config["constraints"]),
        bank_refresh_cycles=timing.get("nREFIpb", 0),
        activate_window=timing.get("nAAD", 0),
        clock_linger=timing.get("nWCKPST", 0) if synchronises else 0,
    )


def _constraint(item: Mapping[str, Any]) -> TimingConstraint:
    return TimingConstraint(
        level=_known(_LEVELS, "level", item["level"]),
        before=tuple(item["preceding"]),
        after=tuple(item["following"]),
        cycles=item["cycles"],
        window=item["window"],
        siblings=item["sibling"],
    )


def _known(table: Mapping[str, Any], what: str, name: str) -> Any:
    _refuse(name in table, what, name, ", ".join(table))
    return table[name]


def _refuse(fits: bool, what: str, found: object, allowed: str) -> None:
    if not fits:
        raise ConfigError(f"{what}: found '{found}'; modelled are {allowed}")
