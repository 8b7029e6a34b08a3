"""The laws in words, by group and number, and what those wait for that no test asserts yet."""

from __future__ import annotations

GROUPS: dict[str, dict[int, str]] = {
    "Pipeline": {
        1: "Two slots, private ports: T = L + C + S + (n-1) max(L, C, S).",
        2: "Input ring of one slot, output ring of two: T = n(L+C) + S + (n-1) max(0, S-L-C).",
        3: "More slots are never slower; beyond two nothing changes when L, C, S are constant.",
        4: "A shared DRAM port: n(L+S) <= T <= n(L+C+S).",
        5: (
            "One in-order DMA queue, its store two behind, one input and one output slot: ProgramError before "
            "time 0, naming who waits for what."
        ),
        6: "With the checker bypassed, a credit cycle raises at run time with the wait cycle.",
        7: (
            "The next layer's first weight move starts no earlier than its slot's last reader signalled; "
            "resident bytes never exceed the capacity."
        ),
        8: "With DRAM saturated, prefetching changes T by 0.",
        9: "T(n) - T(n-1) is constant from some n on; T(1) = L + C + S.",
        10: (
            "n empty kernels: host depth 1, T = n x launch; depth >= 2 and issue interval i <= launch, T = "
            "launch + (n-1) i."
        ),
    },
    "Traffic": {
        11: (
            "An untiled convolution reads each touched in-bounds byte once from DRAM; weight-stationary "
            "array-edge reads = ceil(N/C) M K."
        ),
        12: (
            "1x1 with stride 2: useful bytes are a quarter; pin bytes >= useful, equal only if runs are whole granules."
        ),
        13: "Source traffic does not depend on padding; MACs count pads.",
        14: (
            "Halo refetched: the sum over tiles of ((t_h-1)s+R)((t_w-1)s+R)c, clamped; halo kept: touched "
            "rows once per strip."
        ),
        15: (
            "K cut k_o times above the level that keeps outputs: partials written and read (k_o-1)|O| times "
            "at accumulate width, the final write |O| at output width."
        ),
        16: "At each level: reads towards the MAC = updates - |O|; drains = k_o|O|; fills = (k_o-1)|O|.",
        17: "Imperfect tiles: MACs exact, cycles by ceil.",
        18: (
            "Depthwise: MACs C x OH x OW x 9; weight-stationary utilization <= 9/(R C); the mapper takes the "
            "better of array and vector unit."
        ),
        19: "A matrix-vector product takes at least weight bytes / peak bandwidth.",
        20: "KV bytes per token and decode weight traffic of Llama-3-8B.",
        21: "Causal attention MACs between half and all of dense.",
    },
    "Memory": {
        22: "Refreshes within one of T/tREFI per rank; streaming <= peak (1 - tRFC/tREFI).",
        23: "Read-write turn-around of two requests by formula.",
        24: "Same-bank-group against interleaved streams = tCCD_L / tCCD_S.",
        25: (
            "Two streams of rate r on a port of rate r both take twice as long while they overlap; the "
            "stretch is stall_sram_port."
        ),
        26: "No timing constraint is ever violated in random traffic.",
        27: "A gather with a cache of c of N rows hits c/N.",
    },
    "Network": {
        28: ("Multicast to k: the source reads once, link bytes = tree edges, k writes, never slower than unicast."),
        29: "Ring all-reduce: 2(p-1)/p bytes per node; the result is NumPy's sum.",
        30: (
            "Zero load = formula; every packet arrives once; no deadlock on shipped topologies; a cyclic "
            "route is refused."
        ),
        31: "p private cores with work w: T = max w; imbalance = sum(max - w).",
    },
    "Time": {
        32: (
            "Equal clocks and no synchroniser stages: bit-identical to one domain; clocks of whole-picosecond "
            "periods all times k: same cycles."
        ),
        33: "Every start and end is an edge; boundaries sum exactly.",
        34: "Co-simulated kernels = one global event loop, bit for bit.",
    },
    "Attribution": {
        35: (
            "The causes of each unit sum to cycles_total; mac_breakdown and cycles_critical sum exactly; "
            "array rows of a single-core layer without vector commands have no dependency and no imbalance; "
            "with infinite memories only busy, weight_load, fill_drain, compute, dependency, launch and idle remain."
        ),
        36: "Making a resource ideal cannot gain more than its cause's share of the critical path.",
    },
    "Energy and bounds": {
        37: (
            "Parts sum to the total, layers and `_static` too; at half the clock dynamic energy is equal and "
            "static doubled."
        ),
        38: (
            "The compiler's counts equal the machine's as integers; the analytic latency is at most the "
            "simulated one, and equal with ideal memories."
        ),
        39: "cycles x peak >= MACs on arrays.",
        40: "A period P: average power = (active energy + idle power (P-t)) / P; P < t is an error.",
        41: "Units: 1 GiB = 2^30 B, MT/s = 2 x MHz, TOPS = 2 x MAC/s; four x16 LPDDR5-6400 = 51.2 GB/s.",
    },
    "Programs": {
        42: (
            "Numerical execution under random token-legal interleavings is identical; any one token removed is caught."
        ),
        43: "The assembly text round-trips.",
        44: "`--repeat exact` = `--repeat steady` with refresh off.",
        45: ("No operator is free: cycles and bytes above 0 unless it is a view or fused, and then it is listed so."),
    },
    "Monotone": {
        46: (
            "In-order queues with private resources: more bandwidth, slots or cores are never slower; with "
            "arbitration within 2 %, each exception printed."
        ),
        47: (
            "More buffer capacity is never worse in analytic latency, nor in energy at fixed per-action energies, by "
            "more than the half per cent that counts as alike."
        ),
        48: "The same bits under any hash seed, worker count and cache state.",
    },
    "Second treaty": {
        49: (
            "Appended state: bytes written = rows appended, each row that is there is read once; N decode steps give "
            "the numbers of one forward pass of N tokens, in integers bit for bit."
        ),
        51: "A block of N iterations in the text form of a Workload is the unrolled list, bit for bit.",
        52: "DRAM bytes of a run are at least the compulsory ones, whatever the schedule.",
        53: (
            "A group of one member without shared loops and windows is the layer by itself: the same Program, byte for "
            "byte."
        ),
        54: (
            "In a group each element of a window is computed once, none of its bytes moves to or from DRAM, and what "
            "its slots held is the model's, in any order of commands."
        ),
        55: "No run takes fewer cycles than its network's bound, whatever the mapping and the schedule.",
        56: (
            "Of the results by the three objectives each is the best in its own figure, up to half a per cent: the "
            "other two are simulated."
        ),
        57: "A network is never slower than the sum of its layers alone, up to half a per cent.",
        58: (
            "What the schedule policy of a platform leaves is among the candidates of the best schedule: best <= "
            "platform, in simulated cycles."
        ),
        59: (
            "n kernels of work w, launched one by one, with a depth that does not bind: launch + (n-1) max(issue, "
            "floor + w) + w."
        ),
        61: "MACs by engine (arrays, vector units, host) sum to the workload's.",
    },
}
WAITING: dict[int, str] = {
    20: "transformer configurations",
    21: "transformer configurations",
    31: "several cores",
}
