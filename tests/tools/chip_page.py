"""docs/chip.md from the schema: ``python -m tests.tools.chip_page > docs/chip.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from archsim.base import units
from archsim.spec import schema
from archsim.spec.by_name import ByName
from archsim.spec.problems import allowed_text
from archsim.spec.schema_base import KEYS_LATER, label
from archsim.spec.value_domains import MeasuredQuantity

_HEAD = """# Chip files

A chip is one YAML file; its name is the name users type (`show chips` lists those that are there). This page
comes from the schema that also checks the files and words the errors: `make chip-page`.

    schema: archsim.chip/1
    name: small_npu
    source: "estimated: an example"
    technology: {node: 7nm, voltage: 0.75 V}
    clock: 1 GHz
    hierarchy:                                   # outermost first
      - host:   {launch: 2 us, depth: 2, issue: 0.2 us, link: 16 GB/s, compute: 50 GFLOP/s}
      - dram:   {name: dram, standard: lpddr5, speed: 6400 MT/s, width: 16 b, channels: 4,
                 capacity: 8 GiB, keeps: all}
      - sram:   {name: l1, size: 256 KiB, banks: 8, word: 16 B, keeps: all}
      - parallel:                                # leaves that share the memories above
          - array:  {name: mxu, kind: systolic, shape: [16, 16], rates: {int8: 1}}
          - vector: {name: vpu, lanes: 64, functions: {exp: 4, divide: 4, sqrt: 4}}

**Units.** A bare number where a unit is due is an error. `GiB` (2^30 bytes) and `GB` (10^9), `B` and `b`,
`MT/s` and `MHz` are different things; numbers are exact (`1/2`, `0.5`, `25.6 GB/s`).

**Roles.** Tensors are inputs, weights, outputs, partials, tables, kv. A role's path is the memories that keep
it, outermost first; inputs, weights and outputs begin in a dram and every role ends in an sram.

**Explicit and folded.** A dram, and an sram with `filled_by: dma`, has rings and moves in the Program.
Registers, and an sram with `filled_by: array`, are inside the array's formula; everything
below the first folded memory is too.

**Banks and ports.** A word of an sram lies in one bank (`interleave`), and each port of a bank serves one word a
cycle: strides that meet in few banks cost cycles. `ports: {read: 1, write: 1, dma: {write: 1}, array: {read: 2}}`
gives engines ports of their own beside the common ones, which all others share. `padding` leaves words free behind
the rows of tiles, and of tensors that stay on chip (those of inputs, unless a reshaping view needs them dense).
Slices of an L2 that are chosen by a hash of the address, with queues before them, are `interleave: hashed`: no stride
meets few of them.

**Networks and cores.** What stands below a `noc` exists once for each node of its topology: memories, arrays, vector
units and DMA engines are a core's own (`l1[3]` in Programs), and each core computes from memories of its own. What
stands above it is shared, and reached through the ports that `attach` names: `attach: {l2: [[0, 0], [0, 3]]}` gives
l2 two, at the routers with these coordinates; a router may be named more than once. A crossbar, bus, tree or fat
tree has numbered routers: `[[0]]`. Every memory above that feeds one below needs a port; one that only feeds others
above needs none.

    - sram: {name: l2, size: 4 MiB, banks: 16, word: 32 B, keeps: all}
    - noc:  {name: mesh, topology: mesh, shape: [4, 4], link: 32 B, attach: {l2: [[0, 0], [3, 3]]}}
    - sram: {name: l1, size: 256 KiB, banks: 8, word: 16 B, keeps: all}

A packet is at least a flit; with `multicast: true` it fits, header and all, into the `buffer` of a virtual channel.
A node of a network is a core, that at the root of a tree too. `show chips NAME` prints the peaks of all cores, of a
link, of the bisection and of each part's ports. Timing: [noc.md](noc.md); energy: [energy.md](energy.md). Not built
with a network: caches, a dram below it, a host at a port, the topology point_to_point.

**Networks in networks.** Of two or more `noc` parts each has a copy of what stands below it at every node: chiplets of
a package, packages of a board. Cores are numbered copy after copy. The innermost network states the flit, the packets,
the virtual channels and the fidelity of all; `attach` of an inner network names the one router of it that is joined to
its copy's router of the network around it, `attach` of the outermost one the ports of the memories above.

    - noc:  {name: package, topology: mesh, shape: [2, 2], phy: ucie_standard, attach: {dram: [[0, 0]]}}
    - noc:  {name: mesh, topology: mesh, shape: [4, 4], link: 32 B, attach: {package: [[0, 0]]}}

Links between chips have a `phy`: lanes x rate x coding bits a second, a latency, an energy for a bit, a static power;
`phy: NAME` takes those of a file in `configs/links` (`ucie_standard`: 16 lanes x 16 GT/s = 32 GB/s). A
flit takes such a link for an exact ratio of cycles of the network, at least 1. Without a `phy` the links of an outer
network are wires: `link` bytes in a cycle of its `clock`. Not built: a memory between two networks, and more than one
router of a copy that is joined to the network around it.

**Sources.** Every number says where it comes from: `source:` for a section, `sources: {key: text}` for single
keys, at the top level also `sources: {part.key: text}`. `estimated: reasoning` marks a number that nobody
published; it shows as such in reports. A file of your own may leave sources out: its numbers count as `user`.

**Variants.** `extends: CHIP` (a name, or a path relative to the file) takes another chip and changes it:
mappings merge key by key, parts by `name`, lists are replaced, new parts go behind the part named before
them. Single values: `--set dram.channels=8`, `chip.replace({"dram.channels": 8})`; a key path is PART.KEY, or
a top-level key.

**Platforms.** A chip file states the silicon; `platforms` states, by name, the software that runs it, and `platform`
the usual one of them. `--platform NAME`, the same as `--set platform=NAME`, takes another one.

    platforms:
      library:
        policy: framework                        # what `--schedule platform` allows of schedules
        host:                                    # in place of the same keys of the chip's host
          per: kernel
          depth: 1024
          launch: 5 us
          issue: {default: 7 us, Softmax: 13 us, LayerNormalization: 52 us}
          floor: 1 us
        clock_share: 0.92                        # of the clock
        vector_share: {default: 1, softmax: 0.25}
    platform: library

With `per: kernel` the host launches each kernel (a layer, or layers that run as a group) and the next one begins a
`floor` after the one before has ended; else it launches a Program once, and there is no floor. `launch`, `issue` and
`floor` of kernels are one time, or a table with a `default` and the times of some operators, by the names that
`show operators` lists. A key of the host that the platform states is set there,
`--set platforms.library.host.launch=3us`: `host.launch` would change nothing, and is refused.

`policy` names what the platform's compiler or library allows of schedules (`show policies`,
[mapping.md](mapping.md)). A policy that copies operands whole before a product begins, such as `xla`, reads
`prefetch`, the share of the innermost memory that they may fill; beside other policies it is refused. A policy that
launches a whole model as one kernel has no use for tables by operator, so they are refused there.

`clock_share` slows the parts that run at the chip's clock; cycles of a run stay those of the clock as it is stated.
`vector_share` is what the platform's kernels reach of the vector units' rate, for all of their functions, or in a
table with a `default` by the names that VECTOR commands of Programs have (`archsim asm`): softmax, gelu, layer_norm,
add, multiply.

**Expanded form.** `shape` and `dataflow` of an array expand to fan-outs and registers; `show chips NAME`
prints the chip with everything stated, and that text loads again to the same chip.

**Where files are found.** The directories in `ARCHSIM_CONFIGS` (each with a folder `accelerators`), then the
ones that came with the package. A path works as well as a name.

**Not built yet** (refused by name): the parts {later}, memories and networks
inside `parallel`, the keys {keys}.
"""
_SECTIONS: tuple[type[BaseModel], ...] = (
    schema.ChipSection,
    schema.PLATFORM,
    schema.PLATFORM_HOST,
    schema.TechnologySection,
    schema.DtypesSection,
    schema.EVERY_PART,
    schema.STORAGE,
    schema.DRAM,
    schema.CACHE,
    schema.SRAM,
    schema.PortsSection,
    schema.EnginePortsSection,
    schema.REGISTERS,
    schema.NOC,
    schema.PHY,
    schema.ARRAY,
    schema.FANOUT,
    schema.REGISTER_FILE,
    schema.VECTOR,
    schema.DMA,
    schema.HOST,
)
_TITLES = {"Chip": "Top level", "Part": "Every part", "Storage": "Every memory", "Fanout": "array: fanouts"}
_TITLES |= {"RegisterFile": "array: registers", "Ports": "sram: ports"}
_TITLES |= {"Platform": "platforms", "PlatformHost": "platforms: host"}
_TITLES |= {"Phy": "noc: phy", "EnginePorts": "sram: ports of one engine; cache: ports"}
_INHERITED = {(section, name) for section in (schema.ChipSection, schema.EVERY_PART) for name in ("source", "sources")}


def chip_page() -> str:
    """The whole page in Markdown."""
    later = ", ".join(f"`{kind}`" for kind in schema.PARTS_LATER)
    keys = ", ".join(f"`{key}`" for key in KEYS_LATER)
    head = _HEAD.replace("{later}", later).replace("{keys}", keys)
    return head + "".join(f"\n{_section(section)}" for section in _SECTIONS)


def _section(section: type[BaseModel]) -> str:
    name = label(section).rpartition(".")[2]
    title = _TITLES.get(name, name.lower())
    text = " ".join((section.__doc__ or "").split())
    rows = "\n".join(_rows(section))
    return f"## {title}\n{text}\n\n| key | allowed | default | meaning |\n|---|---|---|---|\n{rows}\n"


def _rows(section: type[BaseModel]) -> Iterator[str]:
    for name, info in section.model_fields.items():
        if name not in section.__annotations__ and (section, name) not in _INHERITED:
            continue
        allowed = allowed_text(info.annotation, info.metadata).replace("|", "\\|")
        yield f"| `{info.alias or name}` | {allowed} | {_default(info)} | {info.description} |"


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True, validated_data={})
    return _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, MeasuredQuantity):
        return f"{units.rational(value.value)} {value.per}"
    if isinstance(value, ByName):
        return _shown(value.default)
    if isinstance(value, dict):
        return _shown(value["all"]) if "all" in value else "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, str, Fraction)) and value != "":
        return str(value)
    return "see below" if isinstance(value, BaseModel) else "none"


if __name__ == "__main__":
    sys.stdout.write(chip_page())
