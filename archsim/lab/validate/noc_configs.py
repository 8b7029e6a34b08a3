"""Reads the networks of the reference curves: BookSim's names for topologies, routers and the measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from archsim.base.errors import ConfigError
from archsim.facts.noc import routing
from archsim.facts.noc.routing import RoutingTable
from archsim.facts.noc.topologies import crossbar, mesh, torus
from archsim.facts.noc.topology import Topology
from archsim.noc.offered import LoadProcedure
from archsim.noc.parameters import RouterParameters

_FIXED: Mapping[str, tuple[Any, ...]] = {  # what the model has no parameter for, and the values that it stands for
    "vc_alloc_delay": (1,),
    "sw_alloc_delay": (1,),
    "st_final_delay": (1,),
    "output_speedup": (1,),
    "internal_speedup": ("1.0", 1.0, 1),
    "injection_rate_uses_flits": (1,),
    "sim_type": ("latency",),
    "priority": ("none",),
    "injection_process": ("bernoulli",),
    "sim_count": (1,),
    "use_read_write": (0,),
}
_WITHOUT_EFFECT = ("alloc_iters", "use_noc_latency")  # the runs with other values are equal to the last digit
_ROUTING = {("mesh", "dor"), ("torus", "dim_order"), ("fly", "dest_tag")}
_READ = (
    *("routing_delay", "credit_delay", "vc_allocator", "sw_allocator", "speculative", "wait_for_tail_credit"),
    *("hold_switch_for_packet", "input_speedup", "num_vcs", "vc_buf_size", "seed"),
    *("warmup_periods", "sample_period", "max_samples", "latency_thres"),
)


@dataclass(frozen=True, slots=True)
class NocSetup:
    """A network and how it is measured."""

    topology: Topology
    routes: RoutingTable
    parameters: RouterParameters
    procedure: LoadProcedure


def read(config: Mapping[str, Any], run: Mapping[str, Any]) -> NocSetup:
    """The network of a run. Raises ConfigError for what is not modelled, with the values that are."""
    values = {**config["base_params"], **config["vc"][run["vc"]], **run["extra"]}
    for name, value in values.items():
        if name in _FIXED and value not in _FIXED[name]:
            raise ConfigError(f"{name}: found {value}; allowed {', '.join(map(str, _FIXED[name]))}")
        if name not in (*_FIXED, *_WITHOUT_EFFECT, *_READ):
            raise ConfigError(f"unknown parameter '{name}'")
    topology = _topology(config["topo"][run["topo"]])
    parameters = RouterParameters(
        vcs=values["num_vcs"],
        vc_buffer=values["vc_buf_size"],
        routing_delay=values["routing_delay"],
        credit_delay=values["credit_delay"],
        vc_allocator=values["vc_allocator"],
        switch_allocator=values["sw_allocator"],
        speculative=bool(values["speculative"]),
        wait_for_tail_credit=bool(values["wait_for_tail_credit"]),
        hold_switch=bool(values["hold_switch_for_packet"]),
        input_speedup=values["input_speedup"],
    )
    procedure = LoadProcedure(
        period_cycles=values["sample_period"],
        warm_up=values["warmup_periods"],
        periods=values["max_samples"],
        limit_cycles=float(values["latency_thres"]),
    )
    return NocSetup(topology, routing.routes(topology), parameters, procedure)


def _topology(asked: Mapping[str, Any]) -> Topology:
    kind = (asked["topology"], asked["routing_function"])
    if kind not in _ROUTING:
        allowed = ", ".join(f"{topology} {function}" for topology, function in sorted(_ROUTING))
        raise ConfigError(f"topology: found {kind[0]} with {kind[1]}; allowed {allowed}")
    shape = (asked["k"],) * asked["n"]
    if kind[0] == "mesh":
        return mesh.build(shape)
    if kind[0] == "torus":
        return torus.build(shape)
    if asked["n"] != 1:
        raise ConfigError(f"topology fly: n: found {asked['n']}; allowed 1, a crossbar")
    return crossbar.build(shape)
