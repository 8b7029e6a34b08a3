"""Nodes of an AccelForge architecture as memories, fan-outs and units."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from math import prod

from archsim.base.errors import ConfigError
from archsim.frontend.foreign.accelforge_work import AccelforgeFacts
from archsim.frontend.foreign.design import ROLES, ForeignFanout, ForeignLanes, ForeignMacs, ForeignMemory, constant
from archsim.frontend.foreign.ledger import IGNORED
from archsim.frontend.foreign.section import SourceQuantity, SourceSection
from archsim.frontend.foreign.sets import EVERY, Roles, roles_of

_PJ, _MM2 = 10**12, 10**6
MOST_J = Fraction(1, 10**6)  # of an action; what is larger is no energy of a chip
LEAST_HZ = 1000  # of the compute units; slower ones count in units of their own
_ESTIMATED = "AccelForge's component models alone read it; the technology table prices what states no energy"
_SEARCH = "a limit on AccelForge's search; archsim's mapper has its own (docs/mapping.md)"
_MODELS = ("component_class", "extra_attributes_for_component_model", "component_model", "component_modeling_log")
_TOTALS = ("total_area", "total_leak_power")
_SHARED_RULE = re.compile(
    r"\(\s*(?:read_actions\s*\+\s*write_actions|write_actions\s*\+\s*read_actions)\s*\)((?:\s*/\s*[\d.eE+]+)+)"
)
_UNIT_RULE = re.compile(r"compute_actions((?:\s*/\s*[\d.eE+]+)+)")
_SUM_RULES = ("sum(*action2latency.values())", "read_latency + write_latency", "sum(read_latency, write_latency)")
_MAX_RULES = ("max(*action2latency.values())", "max(read_latency, write_latency)", "max(write_latency, read_latency)")


class AccelforgeReader:
    """What names in expressions stand for: tensors, memories so far, widths of values, variables."""

    def __init__(self, facts: AccelforgeFacts, variables: dict[str, object]) -> None:
        self._roles: dict[str, Roles] = dict(facts.roles)
        self._bits = facts.bits
        self._names: dict[str, object] = dict(variables)
        self._above: Roles = frozenset()
        for role, names in (("inputs", ("input",)), ("weights", ("weight",)), ("outputs", ("output",))):
            for name in (*names, role, *(known for known, roles in facts.roles.items() if roles == frozenset((role,)))):
                self._names[name] = Fraction(1)
                self._names[f"{name}.bits_per_value"] = self._bits[role].value if role in self._bits else Fraction(8)

    def set(self, section: SourceSection, key: str, to: str) -> Roles:
        """The roles of a set expression."""
        text = section.text(key, to)
        try:
            return roles_of(text, {**self._roles, "Above": self._above})
        except ConfigError as error:
            section.fail(str(error), key)

    def spreads(self, node: SourceSection) -> list[ForeignFanout]:
        """Fan-outs of a node, which hold for it and for all below."""
        found = []
        name = node.text("name", "the name of the part", "fanout")
        if node.tag in ("!Container", "!Fanout"):
            node.ignore(_ESTIMATED, *_MODELS)
            node.ignore(
                "of a container, which is nothing itself", "area", "leak_power", "enabled", "tensors", "actions"
            )
        for spatial in node.entries("spatial"):
            axis = spatial.text("name", "array.shape", "fanout")
            if spatial.count("fanout", "array.shape", self._names) is None:
                spatial.fail("key 'fanout' is missing")
            size = spatial.number("fanout", "array.shape", self._names)
            assert size is not None
            forced, free = (
                self.set(spatial, key, "rows or columns of the array") if key in spatial else None
                for key in ("reuse", "may_reuse")
            )
            spatial.ignore(_SEARCH, "min_usage", "loop_bounds", "usage_scale", "power_gateable")
            if size.value > 1:
                found.append(ForeignFanout(f"{name}_{axis}", size, _axis(forced or free)))
        return found

    def rate(self, mac: SourceSection) -> SourceQuantity | None:
        """MACs a second of one compute unit, the clock; None where nothing limits them."""
        rule = mac.text("total_latency", "clock") if "total_latency" in mac else ""
        stated = _UNIT_RULE.fullmatch(rule.strip())
        if rule and not stated and rule.strip() not in _SUM_RULES:
            mac.refuse("a rule of latency that is not understood; the rates of the actions are taken", "total_latency")
        if stated:
            return SourceQuantity(
                _over(mac, stated[1]), mac.source("total_latency"), mac.node.mapping["total_latency"].mark
            )
        action = next(
            (each for each in mac.entries("actions") if each.text("name", "which action it is") == "compute"), None
        )
        return self._per_second(mac, action) if action is not None else None

    def _per_second(self, node: SourceSection, action: SourceSection) -> SourceQuantity | None:
        """Actions a second: ``throughput``, else one over ``latency``; None where nothing limits them."""
        many = node.number("n_parallel_instances", "rates", self._names)
        factor = many.value if many is not None else Fraction(1)
        rate = action.number("throughput", "rates", self._names)
        latency = action.number("latency", "rates", self._names)
        slower = action.number("latency_scale", "rates", self._names)
        whole = node.number("latency_scale", "rates", self._names)
        scale = prod((each.value for each in (slower, whole) if each is not None), start=Fraction(1))
        if scale <= 0:
            action.fail("found a scale of 0; allowed more than 0", "latency_scale")
        if "throughput" in action and latency is not None:
            if latency.value == 0:
                action.ledger.settle(IGNORED, latency.path, latency.mark, "no time beside that of the throughput")
            else:
                action.refuse("a latency beside a throughput: the throughput is taken; state one of them", "latency")
        if rate is not None:
            if rate.value == 0:
                action.fail("found 0; allowed actions a second, or inf", "throughput")
            return rate.scaled(factor / scale)
        if latency is None or latency.value == 0 or "throughput" in action:
            return None
        return replace(latency, value=factor / (latency.value * scale))

    def lanes(
        self, node: SourceSection, clock: SourceQuantity | None, levels: list[ForeignMemory | ForeignFanout]
    ) -> ForeignLanes | None:
        """A unit for einsums of two tensors as the vector unit, all its instances together."""
        action = next(
            (each for each in node.entries("actions") if each.text("name", "which action it is") == "compute"), None
        )
        rate = self._per_second(node, action) if action is not None else None
        if action is None or rate is None:
            return None
        many = prod(int(level.size.value) for level in levels if isinstance(level, ForeignFanout))
        lanes = rate.value * many / (clock.value if clock is not None else 10**9)
        if lanes < 1:
            return None
        name = node.text("name", "the name of the part", "vector")
        node.ignore("which unit an einsum takes", "enabled")
        node.refuse(
            "a vector unit's area and leakage are the technology table's; state them yourself", "area", "leak_power"
        )
        node.ignore(_ESTIMATED, *_MODELS)
        return ForeignLanes(
            name, rate.scaled(Fraction(int(lanes)) / rate.value, "a cycle, all together"), self._energy(node, action)
        )

    def _energy(self, node: SourceSection, action: SourceSection) -> SourceQuantity | None:
        """pJ."""
        energy = action.number("energy", "energy", self._names)
        scales = (
            action.number("energy_scale", "energy", self._names),
            node.number("energy_scale", "energy", self._names),
        )
        action.ignore(_ESTIMATED, "extra_attributes_for_component_model")
        if energy is None:
            return None
        if energy.value > MOST_J:
            action.refuse("no joules: energies in units of its own have no counterpart; state joules", "energy")
            return None
        return energy.scaled(_PJ * prod((each.value for each in scales if each is not None), start=Fraction(1)), "J")

    def units(self, mac: SourceSection) -> ForeignMacs:
        """The compute units."""
        price = None
        for action in mac.entries("actions"):
            name = action.text("name", "energy.mac")
            if name == "compute":
                price = self._energy(mac, action)
            else:
                action.refuse(f"an action '{name}' that archsim does not count")
        mac.ignore(_ESTIMATED, *_MODELS)
        mac.ignore("results of AccelForge", *_TOTALS)
        area, leakage = self._stands(mac)
        name = mac.text("name", "the name of the part", "MAC")
        return ForeignMacs(name, mac.node.mark, pj=price, area_mm2=area, leakage_w=leakage)

    def _stands(self, node: SourceSection) -> tuple[SourceQuantity | None, SourceQuantity | None]:
        """Area in mm2 and leakage in W of one instance."""
        found = []
        many = node.number("n_parallel_instances", "area", self._names)
        for key, scale, unit in (("area", "area_scale", _MM2), ("leak_power", "leak_power_scale", 1)):
            value = node.number(key, key, self._names)
            factor = node.number(scale, key, self._names)
            factors = [each.value for each in (factor, many) if each is not None]
            found.append(value.scaled(unit * prod(factors, start=Fraction(1))) if value is not None else None)
        return found[0], found[1]

    def memory(self, node: SourceSection, clock: SourceQuantity | None, outermost: bool) -> ForeignMemory:
        """A memory; its tensors are known by its name from here on."""
        name = node.text("name", "the name of the part")
        if not name:
            node.fail("key 'name' is missing")
        roles = self._kept(node, name)
        size = node.number("size", f"{name}.size", self._names)
        if "size" not in node:
            node.fail("key 'size' is missing; allowed bits, or inf")
        actions = {action.text("name", "energy and rates"): action for action in node.entries("actions")}
        for action_name, action in actions.items():
            if action_name not in ("read", "write"):
                action.refuse(f"an action '{action_name}' that archsim does not count")
        bits = {way: self._action_bits(node, actions.get(way)) for way in ("read", "write")}
        width = max(bits.values(), key=lambda each: each.value)
        prices, rates = {}, {}
        for way in ("read", "write"):
            given = actions.get(way)
            price = self._energy(node, given) if given is not None else None
            prices[way] = price.scaled(width.value / bits[way].value) if price is not None else None
            rates[way] = self._bits_a_cycle(node, given, bits[way], clock)
        shared, rule = self._rule(node, width, clock)
        area, leakage = self._stands(node)
        self._rest(node)
        found = ForeignMemory(
            name=name,
            mark=node.node.mark,
            roles=roles,
            bits=size,
            access_bits=width,
            read_pj=prices["read"],
            write_pj=prices["write"],
            read_bits=rule or rates["read"],
            write_bits=rule or rates["write"],
            shared=shared,
            area_mm2=area,
            leakage_w=leakage,
            offchip=outermost and size is None,
            value_bits=self._widths(node, roles),
        )
        self._roles[name] = roles
        self._above |= roles
        return found

    def _kept(self, node: SourceSection, name: str) -> Roles:
        tensors = node.mapping("tensors")
        if tensors is None:
            node.fail("key 'tensors' is missing; allowed {keep: SET, may_keep: SET}")
        self._roles.setdefault(name, frozenset())
        keep, may = (
            self.set(tensors, key, f"{name}.keeps") if key in tensors else frozenset() for key in ("keep", "may_keep")
        )
        for key in (
            "back",
            "tile_shape",
            "no_refetch_from_above",
            "tensor_order_options",
            "force_memory_hierarchy_order",
        ):
            tensors.ignore(_SEARCH, key)
        if may - keep:
            said = f"{', '.join(sorted(may - keep))} always pass through it; AccelForge may keep them there or not"
            node.ledger.assume(f"{name}.keeps", said)
        if not keep | may:
            node.fail("keeps no tensor; allowed {keep: SET, may_keep: SET} with one at least", "tensors")
        return keep | may

    def _action_bits(self, node: SourceSection, action: SourceSection | None) -> SourceQuantity:
        for section in (action, node):
            found = section.number("bits_per_action", "word", self._names) if section is not None else None
            if found is not None and section is not None:
                if found.value <= 0:
                    section.fail("found 0; allowed 1 or more", "bits_per_action")
                return found
        return constant(1, "one bit an action", node.node.mark)

    def _bits_a_cycle(
        self, node: SourceSection, action: SourceSection | None, bits: SourceQuantity, clock: SourceQuantity | None
    ) -> SourceQuantity | None:
        rate = self._per_second(node, action) if action is not None else None
        return rate.scaled(bits.value / (clock.value if clock is not None else 10**9), "a cycle") if rate else None

    def _rule(
        self, node: SourceSection, width: SourceQuantity, clock: SourceQuantity | None
    ) -> tuple[bool, SourceQuantity | None]:
        """Whether both directions share ports, and the bits a cycle that the rule itself states."""
        separate = node.flag("separate_read_write_ports", "ports")
        text = node.text("total_latency", "ports") if "total_latency" in node else ""
        if not text:
            return not separate, None
        stated = _SHARED_RULE.fullmatch(text.strip())
        if stated:
            mark = node.node.mapping["total_latency"].mark
            bits = _over(node, stated[1]) * width.value / (clock.value if clock is not None else 10**9)
            return True, SourceQuantity(bits, node.source("total_latency"), mark, node.key_path("total_latency"))
        if text.strip() not in (*_SUM_RULES, *_MAX_RULES):
            node.refuse("a rule of latency that is not understood; the rates of the actions are taken", "total_latency")
        return text.strip() not in _MAX_RULES and not separate, None

    def _rest(self, node: SourceSection) -> None:
        node.ignore(_ESTIMATED, *_MODELS)
        node.ignore("results of AccelForge", *_TOTALS)
        node.ignore(_SEARCH, "support_concurrent_binding", "enabled")

    def _widths(self, node: SourceSection, roles: Roles) -> dict[str, int]:
        """Bits of values that this memory holds otherwise: ``bits_per_value`` or ``bits_per_value_scale`` by set."""
        found: dict[str, int] = {}
        for key, scaled in (("bits_per_value", False), ("bits_per_value_scale", True)):
            table = node.mapping(key)
            for name in table if table is not None else []:
                assert table is not None
                number = table.number(name, "dtypes", self._names)
                for role in ROLES if number is not None else ():
                    assert number is not None
                    if role in roles_of_key(table, name, self._roles) & roles:
                        usual = self._bits[role].value if role in self._bits else 8
                        found[role] = max(1, int(number.value * (usual if scaled else 1)))
        return found

    def value_bits(self, levels: list[ForeignMemory | ForeignFanout]) -> dict[str, SourceQuantity]:
        """Bits of each role, of sums those of the innermost memory that keeps outputs otherwise."""
        found = dict(self._bits)
        inner = [level for level in levels if isinstance(level, ForeignMemory) and "outputs" in level.value_bits]
        if inner:
            width = inner[-1].value_bits["outputs"]
            found["accumulate"] = constant(width, f"bits of a value in {inner[-1].name}", inner[-1].mark)
        return found


def roles_of_key(table: SourceSection, name: str, roles: dict[str, Roles]) -> Roles:
    """The roles of a set expression that is a key."""
    try:
        return roles_of(name, roles)
    except ConfigError as error:
        table.fail(str(error), name)


def _axis(reused: Roles | None) -> str:
    """Rows where outputs alone are the same over a fan-out: partial sums are added."""
    if reused is None or reused == EVERY:
        return ""
    return "rows" if reused == frozenset(("outputs",)) else "cols"


def _over(node: SourceSection, text: str) -> Fraction:
    """The product of what the rule ``total_latency`` divides by."""
    try:
        found = prod((Fraction(part.strip()) for part in text.split("/")[1:]), start=Fraction(1))
    except ValueError:
        found = Fraction(0)
    return (
        found if found > 0 else node.fail(f"found '{text.strip()}'; allowed division by numbers > 0", "total_latency")
    )
