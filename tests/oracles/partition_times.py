"""The estimate of Kenter et al. 2010, section II-A, term by term from a profile's JSON.

Slow and literal, and without a line in common with `objectives.partition`: instructions are
counted one class at a time, values one pair of blocks at a time, organisations are a table.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any


def organisations(l1: float, l2: float, mem: float, extra: float) -> dict[str, dict[str, Any]]:
    """Latencies of both cores, and what touching the other core's data adds."""
    free = {"dirty": 0.0, "clean": 0.0}
    shared = l2 + extra
    cached = {"dirty": shared + shared - l1, "clean": shared - l1}
    nearer = {"dirty": l2 - l1, "clean": l2 - l1}
    farther = {"dirty": mem + mem - l2, "clean": mem - l2}
    return {
        "SL1": {
            "CPU": (l1 + extra, l2, mem),
            "ACC": (l1 + extra, l2, mem),
            **{f"L{level} to {core}": free for level in (1, 2) for core in ("CPU", "ACC")},
        },
        "SL2+": {
            "CPU": (l1, l2 + extra, mem),
            "ACC": (l1, l2 + extra, mem),
            **{"L1 to ACC": cached, "L1 to CPU": cached, "L2 to ACC": free, "L2 to CPU": free},
        },
        "SL2-": {
            "CPU": (l1, l2 + extra, mem),
            "ACC": (l2 + extra, l2 + extra, mem),
            "L1 to ACC": {"dirty": shared, "clean": 0.0},
            "L1 to CPU": {"dirty": shared - l1, "clean": shared - l1},
            **{"L2 to ACC": free, "L2 to CPU": free},
        },
        "SMM+": {
            "CPU": (l1, l2, mem),
            "ACC": (l1, l2, mem),
            **{"L1 to ACC": nearer, "L1 to CPU": nearer},
            **{"L2 to ACC": farther, "L2 to CPU": farther},
        },
        "SMM-": {
            "CPU": (l1, l2, mem),
            "ACC": (mem, mem, mem),
            **{"L1 to ACC": free, "L1 to CPU": nearer},
            "L2 to ACC": {"dirty": mem, "clean": 0.0},
            "L2 to CPU": {"dirty": mem - l2, "clean": mem - l2},
        },
    }


def literal_times(
    profile: dict[str, Any], accelerated: set[int], memory: dict[str, Any], a: dict[str, float]
) -> dict[str, float]:
    """t_e, t_m, t_c and t_r in cycles; `accelerated` are block ids, `memory` an organisation."""
    core = {b["id"]: "ACC" if b["id"] in accelerated else "CPU" for b in profile["blocks"]}
    n = {b["id"]: b["executions"] for b in profile["blocks"]}
    efficiency = {"CPU": a["cpu"], "ACC": a["acc"]}
    called = {"CPU": "cpu", "ACC": "accelerator"}

    t_e = 0.0
    for block in profile["blocks"]:
        for kind, number in block["instructions"].items():
            if kind in ("load", "store", "copy", "phi", "alloca"):
                continue
            for _ in range(number):
                if kind == "cast" and core[block["id"]] == "ACC":
                    continue
                on = core[block["id"]]
                t_e += n[block["id"]] * efficiency[on] * a.get(f"{called[on]}_{kind}", 1.0)

    t_m = 0.0
    for access in profile["accesses"]:
        for found, latency in zip(access["hits"][0], memory[core[access["block"]]], strict=True):
            t_m += found * latency
    for row in profile["crossings"]:
        if row["cache"] == 0:
            others = {"CPU": "ACC", "ACC": "CPU"}[core[row["from"]]]
            if any(core[reader] == others for reader in row["to"]):
                for state in ("dirty", "clean"):
                    t_m += row[state] * memory[f"L{row['level']} to {others}"][state]

    t_c = t_r = 0.0
    scale = a["factor"]

    def passed(written: float, read: float) -> float:
        return min(written * a["push"] * scale, read * a["pull"] * scale)

    for edge in profile["edges"]:
        if core[edge["from"]] != core[edge["to"]]:
            t_c += edge["count"] * a["control"] * scale
    for value in profile["registers"]:
        for use in value["to"]:
            if core[value["from"]] != core[use]:
                t_r += passed(n[value["from"]], n[use])
    for caller, callee_entry, times, arguments in _calls(profile):
        if core[caller] != core[callee_entry]:
            t_c += times * a["control"] * scale
            for _ in range(arguments):
                t_r += passed(times, times)
    for leaving, caller, times, result in _returns(profile):
        if core[leaving] != core[caller]:
            t_c += times * a["control"] * scale
            if result:
                t_r += passed(times, times)
    return {"t_e": t_e, "t_m": t_m, "t_c": t_c, "t_r": t_r}


def _followed(function: dict[str, Any]) -> bool:
    """Tell whether a function is the program's own or one of the library that copies memory."""
    return not function["foreign"] or function["symbol"] in ("memcpy", "memmove", "memset")


def _calls(profile: dict[str, Any]) -> list[tuple[int, int, float, int]]:
    found = []
    for call in profile["calls"]:
        for function in profile["functions"]:
            if function["name"] == call["to"] and _followed(function):
                found.append((call["from"], function["entry"], call["count"], call["arguments"]))
    return found


def _returns(profile: dict[str, Any]) -> list[tuple[int, int, float, bool]]:
    leaving = defaultdict(list)
    for block in profile["blocks"]:
        leaving[block["function"]].append((block["id"], max(block["exits"], 0)))
    own = {f["name"] for f in profile["functions"] if _followed(f)}
    found = []
    for call in profile["calls"]:
        if call["to"] in own:
            total = sum(exits for _, exits in leaving[call["to"]])
            for block, exits in leaving[call["to"]]:
                if exits:
                    share = call["count"] * exits / total
                    found.append((block, call["from"], share, call["result"]))
    return found
