"""The figures of docs/communication_figures.md, each computed here or listed as given."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import dse
from dse.profile import Profile
from objectives.communication import Dataflow, Setting, load_dataflow
from objectives.communication.analysis import (
    communication_share,
    local_or_global,
    memory_wall,
    speedups,
)
from objectives.communication.law_text import Notation, law_text
from objectives.communication.laws import Law
from objectives.communication.pictures import top_functions
from objectives.communication.scaling import Count, fit_laws
from tests.docs_figures import ROOT, Cell, Document

PROFILES = ROOT / "studies" / "profiles"
SIDES = (8, 16, 32, 64, 128, 256, 512)
TURN = {"iterative": "turn_rings", "recursive": "turn_quarters"}
WORD = Setting(byte_time=0.25, latency_per_byte=0.25)


@cache
def rotation(way: str, side: int = 128) -> Dataflow:
    program = load_dataflow(PROFILES / "rotate" / f"{way}-{side:03}.json")
    return program.including(["getchar", "putchar"])  # as in the paper, all may move


@cache
def laws(way: str) -> dict[Count, Law]:
    return fit_laws([rotation(way, side) for side in SIDES], [side * side for side in SIDES])


@cache
def jpeg() -> Dataflow:
    return load_dataflow(PROFILES / "jpeg.json")


def law(way: str, *count: str) -> str:
    unit = "" if count[0] == "computation" else "B"
    return law_text(laws(way)[Count(*count)], Notation(unit=unit, root="side"))


def limits(way: str, setting: Setting | None = None) -> dict[str, float]:
    """Return the limits of the speedup at 128², by what is infinitely fast."""
    table = local_or_global(rotation(way), ["load", TURN[way], "store"], [np.inf], setting)
    return {str(name): float(value) for name, value in table.iloc[0].items()}


def test_figures_of_communication_figures() -> None:
    doc = Document("docs/communication_figures.md")
    table_of_laws(doc)
    figure_3(doc)
    walls(doc)
    decoder(doc)
    doc.given(
        "the programs and the pictures",
        r"8 to 512 pixels",
        r"320 x 240 pixels",
        r"buffers of 192 B",
        r"have 8 B",
        r"two counters of 8 B",
        r"hot spots at 128²",
        r"speedup at 128²",
        r"4×4 tiles; as printed it ends at 2×2",
    )
    doc.given("the search for laws", r"p from 0 to 3 and q 0 or 1", r"n\^p·\(log2 n\)\^q")
    studies(doc)
    doc.check()


def table_of_laws(doc: Document) -> None:
    """Claim the laws, as texts."""
    table = doc.table("## Laws")
    way = "iterative"
    for kind, source, target, cell in zip(
        *(table[k] for k in ("n = pixels", "from", "to", "law")), strict=True
    ):
        way = doc.at(kind) or way
        name, _, whole = doc.at(target).partition(" and its recursion as a whole")
        count = ("bytes into" if doc.at(target) != name else "bytes", doc.at(source), name)
        doc.exactly(cell, law(way, *count))
        assert laws(way)[Count(*count)].exact, whole
    table = doc.table("| computation of")
    for name, cell in zip(
        map(doc.at, table["computation of"]), table["law in instructions"], strict=True
    ):
        way = "recursive" if name == "turn_quarters" else "iterative"
        assert name.startswith("turn") or law("recursive", "computation", name, name) == law(
            way, "computation", name, name
        )
        computation(
            doc,
            cell,
            law(way, "computation", name, name),
            laws(way)[Count("computation", name, name)].residual,
        )
    runs = [rotation("recursive", side) for side in SIDES]
    calls = [run.invocations[run.position("turn_quarters")] for run in runs]
    assert calls == [(s * s - 1) / 3 for s in SIDES]
    doc.says("all seven sizes, @ to @. The", SIDES[0] ** 2, SIDES[-1] ** 2)
    doc.given(
        "the law in words, (n − 1)/3 calls",
        r"cost O\(1\)",
        r"n words \+ 12 B for each of the \(n − 1\)/3",
        r"pixel, \(n − 1\)/3 of them",
    )
    doc.says("log2(side) + @/4 instructions a pixel, exactly", 17)
    doc.given("the law of turn_quarters", r"17/4 instructions")
    assert law("iterative", "bytes", "getchar", "getchar").startswith(
        "12·n words"
    )  # "moves twelve times the picture"


def computation(doc: Document, cell: Cell, text: str, residual: float) -> None:
    """Claim a law of computation, with the residual in percent where it is not exact."""
    plain = text.partition(" (within")[0]
    written = doc.at(cell).partition(", within ")
    assert written[0] == plain
    if written[1]:
        digits = len(written[2].removesuffix(" %").partition(".")[2])
        assert written[2] == f"{100 * residual:.{digits}f} %"
    doc.exactly(cell, doc.at(cell))


@cache
def shares_of_time() -> dict[str, Any]:
    """Return the shares of computation and communication, for both rotations."""
    return {
        way: communication_share(
            {s: rotation(way, s) for s in SIDES}, sorted(top_functions(rotation(way)))
        )
        for way in TURN
    }


def figure_3(doc: Document) -> None:
    """Claim the statements on the dependence on the size."""
    ratio = {
        way: [
            float(rotation(way, s).total_bytes / rotation(way, s).computation.sum()) for s in SIDES
        ]
        for way in TURN
    }
    shares = shares_of_time()
    i, r = ratio["iterative"], ratio["recursive"]
    doc.says(
        "iterative @ at 16² to @ at 512² (@ %); recursive @ to @ (@ %)",
        i[1],
        i[-1],
        100 * (i[-1] / i[1] - 1),
        r[1],
        r[-1],
        100 * (r[-1] / r[1] - 1),
    )
    outside = [100 * float(shares["iterative"].loc[s, "(rest)"].sum()) for s in (8, 16, 64)]
    doc.says(
        "@ % at 8², @ % at 16², @ % at 64²; the ratio is @ (iterative), @ (recursive)",
        *outside,
        i[0],
        r[0],
    )
    shares_at_128(doc)


def shares_at_128(doc: Document) -> None:
    """Claim who computes and who communicates."""
    shares = shares_of_time()
    run = rotation("iterative")
    own = dict(zip(run.names, run.computation / run.computation.sum(), strict=True))
    held = sum(
        float(run.computation_inclusive[run.position(n)]) for n in ("load", "store")
    ) / float(run.computation.sum())
    doc.says(
        "| @ % (iterative, 128²); with load and store, which call them, @ %",
        100 * float(own["getchar"] + own["putchar"]),
        100 * held,
    )
    local = []
    for way in TURN:
        at = shares[way].loc[128]
        local.append(
            100 * float(at["load", "local"] / (1 - at.xs("computation", level="part").sum()))
        )
    doc.says("within load: @ % of all bytes (iterative), @ % (recursive)", *local)
    doc.given(
        "sizes",
        r"8×8 is an exception",
        r"at 16² to",
        r"at 512² \(",
        r"at 8²,",
        r"at 16²,",
        r"at 64²;",
        r"\(iterative, 128²\)",
    )


def walls(doc: Document) -> None:
    """Claim Figures 5 and 6."""
    table = doc.table("## Figures 5 and 6")
    rows = ("computation", "local", "computation and local", "global")
    found = {way: limits(way) for way in TURN}
    for way in TURN:
        doc.cells(table[way], [found[way][name] for name in rows])
    run = rotation("iterative")
    wall = found["iterative"]["computation"]
    reached = brentq(lambda factor: float(memory_wall(run, factor)) - 0.95 * wall, 1, 100)
    doc.says("95 % of the wall's @ are reached at a factor of @", wall, reached)
    both = list(found.values())
    doc.says(
        "@ and @ alone, @ and @ with computation; global @ and @",
        *(f[n] for n in ("local", "computation and local", "global") for f in both),
    )
    host = {way: float(rotation(way).computation.sum() + rotation(way).total_bytes) for way in TURN}
    least = {way: host[way] / found[way]["computation and local"] for way in TURN}
    assert least["iterative"] == pytest.approx(least["recursive"], rel=1e-9)
    doc.says("time @ cycles for both, from @ and @", least["iterative"], *host.values())
    word = [limits(way, WORD) for way in TURN]
    for each in word:
        doc.says(
            "the wall is at @ for both, and computation gains more alone (@)",
            each["computation"],
            each["computation"],
        )
    doc.says(
        "communication (@ and @): the second statement holds for both together (@ and @)",
        *(w[n] for n in ("local", "computation and local") for w in word),
    )
    doc.given("the share, and the setting", r"95 % of the wall", r"`latency_per_byte` 0\.25\)")


def decoder(doc: Document) -> None:
    """Claim Figures 9 and 10."""
    run = jpeg()
    ran = [f for f in Profile.load(PROFILES / "jpeg.json").functions if f.invocations]
    library = sum(f.foreign for f in ran)
    doc.says(
        "@ functions of the program run in ours, and @ of the library", len(ran) - library, library
    )
    total = float(run.computation.sum())
    names = ("idct", "colour_conversion", "get_symbol")
    doc.says(
        "computes @ % of all, `colour_conversion` @ %, `get_symbol` @ %",
        *(100 * float(run.computation_inclusive[run.position(n)]) / total for n in names),
    )
    table = doc.table("## Figure 10")
    rows = [doc.at(cell) for cell in table["accelerated"]]
    sets = {row: tuple(row.split(", ")) for row in rows}
    high, limit = speedups(run, sets, [16.0]).iloc[0], speedups(run, sets, [np.inf]).iloc[0]
    shared = speedups(run, sets, [np.inf], shared_store=True).iloc[0]
    doc.cells(table["factor 16"], high)
    doc.cells(table["limit"], limit)
    doc.cells(
        table["limit, one shared store"], [[shared[row]] if "," in row else [] for row in rows]
    )
    doc.cells(table["limit, a word a cycle"], speedups(run, sets, [np.inf], setting=WORD).iloc[0])
    doc.says("at most @, in the limit", max(limit[:4]))
    pair, three, cut, chain = rows[4:]
    doc.says("| @ | agrees |\n| A shared store", limit[pair])
    assert shared[pair] == limit[pair]
    doc.says(
        "@ % better with it, @ % for decode_blocks and",
        *(100 * (shared[r] / limit[r] - 1) for r in (three, cut)),
    )
    alone = speedups(run, {"one": ("decode_blocks",)}, [np.inf])["one"].iloc[0]
    doc.says("`decode_blocks` alone @ in the limit", alone)
    doc.says("it doubles the limit (@ to @)", limit[chain], shared[chain])
    doc.given(
        "a heading, and the paper's program", r"\| factor 16 \|", r"more than 100 in the paper's"
    )


def studies(doc: Document) -> None:
    """Claim what the two studies find."""
    turned, decoded = (
        dse.load(ROOT / "studies" / f"{name}.toml").run() for name in ("rotate", "jpeg")
    )
    doc.says(
        "(@ + @ cycles,", *(float(turned.constants[name][0]) for name in ("overhead", "latency"))
    )
    numbers = [
        n for r in (turned, decoded) for n in (len(r.front.designs), r.certificate.evaluated)
    ]
    doc.says("@ of @ designs, @ of @.", *numbers)
    assert turned.certificate.complete and decoded.certificate.complete
    fastest = turned.front.designs.sort_values("accelerated_time").iloc[0]
    assert set(turned.front.designs["algorithm"]) == {"iterative"} and fastest["shared_store"] == 1
    run = rotation("iterative")
    host = float(
        turned.constants["instruction_time"][0] * run.computation.sum()
        + turned.constants["byte_time"][0] * run.total_bytes
    )
    doc.says("one shared store: @ cycles against @ on the host", fastest["accelerated_time"], host)
    doc.says("(@ B do)", fastest["medium_bytes"])
    doc.says("with one store (@ times as fast)", decoded.front.designs["speedup"].max())
    doc.given("the bus, and the memory", r"a bus of 32 bit", r"LUT for 64 bit")
