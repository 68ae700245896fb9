"""The figures of docs/partition_figures.md, each computed here or listed as given."""

from __future__ import annotations

import numpy as np

from objectives.partition.blocks import decide
from objectives.partition.estimate import cpu_time
from objectives.partition.graph import COPY_AREA
from objectives.partition.quantities import Architecture
from tests.docs_figures import Document
from tests.docs_partition import (
    DEFAULT,
    GRAPHS,
    KINDS,
    ORGANISATIONS,
    SIZES,
    efficiency,
    factor,
    mean,
    point,
)


def test_figures_of_partition_figures() -> None:
    doc = Document("docs/partition_figures.md")
    programs(doc)
    figures_2_and_3(doc)
    claims_of_integration(doc)
    claims_of_size_and_efficiency(doc)
    claims_of_latency(doc)
    doc.given(
        "names, and what the programs are given",
        r"AES-128, byte by byte, 32 KiB",
        r"2,048 points",
        r"320 × 240",
        r"200,000 bytes",
        r"80 × 80",
    )
    doc.given(
        "figures of the paper, and settings",
        r"accelerator of 128",
        r"1 cycle \|",
        r"from 0\.16 % to 38\.16 %",
        r"\(speedup − 1\)",
        r"speedup\s− 1",
    )
    doc.check()


def programs(doc: Document) -> None:
    """Claim the table of programs and what is said of groups."""
    doc.says("and these, @ each", COPY_AREA)
    table = doc.table("| program | what")
    graphs = list(GRAPHS.values())
    doc.cells(table["executed blocks"], map(len, graphs))
    doc.cells(table["instructions"], [g.area.sum() for g in graphs])
    doc.cells(table["of these movable"], [g.area[g.movable].sum() for g in graphs])
    memory = [g.hits.sum(axis=0) @ [3, 15, 200] / float(cpu_time(g, DEFAULT)) for g in graphs]
    doc.cells(table["share of t_m"], memory)
    assert 0.45 < memory[0] < 0.55  # "t_m is half of its time"
    together = {
        n: [x for x in decide(g, DEFAULT, 128.0).groups if x.alone <= 0] for n, g in GRAPHS.items()
    }
    saved = {
        n: 100 * sum(x.gain for x in found) / float(cpu_time(GRAPHS[n], DEFAULT))
        for n, found in together.items()
    }
    group = max(together["whetstone"], key=lambda x: x.gain)
    assert len(group.blocks) == 3
    one = 100 * group.gain / float(cpu_time(GRAPHS["whetstone"], DEFAULT))
    doc.says("three blocks of a loop, of @ instructions, save @ % of the time", group.area, one)
    doc.says(
        "@ for Whetstone, @ for JPEG, @ for FFT",
        *(saved[n] for n in ("whetstone", "jpeg", "fft")),
    )
    assert max(saved[n] for n in ("aes", "md5", "sor")) < 0.2


def figures_2_and_3(doc: Document) -> None:
    """Cover the tables that tests/test_partition_study.py compares as well."""
    table = doc.table("## Figure 2")
    for size, suffix in ((128.0, " %"), (1e9, ", any size %")):
        for i, kind in enumerate(KINDS):
            doc.cells(table[kind + suffix], [point(n, DEFAULT, size).speedup[i] for n in GRAPHS])
    doc.cells(table["theoretical %"], [point(n).theoretical for n in GRAPHS])
    table = doc.table("## Figure 3")
    for i, kind in enumerate(KINDS):
        for penalty, suffix in ((0.0, "no penalty"), (1.0, "1 cycle")):
            doc.cells(table[f"{kind}, {suffix}"], [mean(n, i, penalty) for n in ORGANISATIONS])


def claims_of_integration(doc: Document) -> None:
    """Claim the rows of A and B."""
    speedups = np.array([point(n).speedup for n in GRAPHS])
    doc.says(
        "greedy @ % to @ %, optimum @ % to @ %",
        *(end for kind in speedups.T for end in (kind.min(), kind.max())),
    )
    doc.says("AES @ % by greedy, @ % by the optimum", *point("aes").speedup)
    doc.says("any size has @ %; but", point("aes", DEFAULT, 1e9).speedup[1])
    doc.says("but MD5 gains @ %", point("md5").speedup[1])
    doc.says(
        "SL1 @ %, next SL2+ @ % (greedy @ %, @ %)",
        *(mean(n, k) for k in (1, 0) for n in ("SL1", "SL2+")),
    )
    doc.says("one cycle leaves @ of @ %", mean("SL1", 1, 1.0), mean("SL1", 1))
    doc.says(
        "| @ of @ % (greedy @ of @ %)", *(mean("SL2+", k, p) for k in (1, 0) for p in (1.0, 0.0))
    )
    shares = {
        n: {o: point(n, Architecture(*w, 1.0)).share[1] for o, w in ORGANISATIONS.items()}
        for n in GRAPHS
    }
    doc.says("@ %, next SMM+ @ %; for all programs but", mean("SL2+", 1, 1.0), mean("SMM+", 1, 1.0))
    doc.says("where SMM+ is ahead by @", shares["sor"]["SMM+"] - shares["sor"]["SL2+"])
    assert [n for n, s in shares.items() if max(s, key=s.__getitem__) != "SL2+"] == ["sor"]
    doc.says(
        "SL2− and SMM− @ to @ %; SMM+ @ %, by greedy @ of @ %",
        4,
        5,
        mean("SMM+", 1),
        mean("SMM+", 0),
        mean("SL2+", 0),
    )
    small = [mean(n, k, p) for n in ("SL2−", "SMM−") for k in (0, 1) for p in (0.0, 1.0)]
    assert min(small) > 3 and max(small) < 5
    bare = [point(n, Architecture(*ORGANISATIONS["SL2−"])).share[1] for n in GRAPHS]
    doc.says("only Whetstone (@ %) and FFT (@ %) gain", bare[5], bare[1])
    assert max(bare[i] for i in (0, 2, 3, 4)) < 0.5


def claims_of_size_and_efficiency(doc: Document) -> None:
    """Claim the rows of C and D."""
    at = {n: {s: point(n, DEFAULT, s).share[1] for s in SIZES} for n in GRAPHS}
    before, after = SIZES[3], 32.0
    doc.says(
        "FFT from @ to @ % between 32 and 128; AES from @ to @ % between 32 and 128",
        *(at[n][s] for n in ("fft", "aes") for s in (32.0, 128.0)),
    )
    doc.says(
        "SOR from @ to @ % between @ and @", at["sor"][before], at["sor"][after], before, after
    )
    assert all(np.ptp([at[n][s] for s in SIZES if s > 1000]) < 1e-9 for n in GRAPHS)
    doc.says("then by @; all are flat", at["jpeg"][SIZES[14]] - at["jpeg"][512.0])
    assert at["jpeg"][512.0] > at["jpeg"][SIZES[11]] + 0.1
    sizes = [g.area.sum() for g in GRAPHS.values()]
    doc.says("our programs have @ to @ instructions", min(sizes), max(sizes))
    doc.given(
        "sizes",
        r"AES from 512 to 2,048, FFT from 32 to 128",
        r"between 32 and 128",
        r"rises to 512",
        r"all are flat from 1,024",
    )
    least = {n: efficiency(n, 0.9).share for n in GRAPHS}
    assert [n for n, s in least.items() if s[0] <= 0] == ["fft"] and all(
        s[1] > 0 for s in least.values()
    )
    low, high = (efficiency("jpeg", e).share for e in (0.9, 0.2))
    doc.says("greedy @ to @ %, optimum @ to @ %; casts", low[0], high[0], low[1], high[1])
    graph = GRAPHS["jpeg"]
    doc.says(
        "casts are @ % of its register instructions",
        100 * graph.operations[:, -1].sum() / graph.operations.sum(),
    )
    doc.given("efficiencies", r"at 0\.9 cycles", r"from 0\.9 to 0\.2")


def claims_of_latency(doc: Document) -> None:
    """Claim the rows of E."""
    along = [factor("jpeg", f) for f in 2.0 ** np.arange(-1, 7)]
    moved = [p.moved[0] for p in along]
    doc.says(
        "greedy moves @ to @ blocks throughout, at least @ of those at 0.5",
        min(map(len, moved)),
        max(map(len, moved)),
        min(len(m & moved[0]) for m in moved),
    )
    doc.says(
        "share @ to @ %; the optimum changes more, @ to @ %",
        *(along[i].share[k] for k in (0, 1) for i in (0, -1)),
    )
    first = factor("jpeg", 0.25)
    doc.says(
        "greedy moves @ blocks, @ of the @ that",
        len(first.moved[0]),
        len(first.moved[0] & moved[0]),
        len(moved[0]),
    )
    doc.says("at 0.5 among them: @ against @ %", first.share[0], along[0].share[0])
    latencies_of_aes_and_fft(doc)


def latencies_of_aes_and_fft(doc: Document) -> None:
    """Claim the last row of E."""
    aes, fft = ([factor(n, f).share for f in 2.0 ** np.arange(-2, 7)] for n in ("aes", "fft"))
    doc.says(
        "AES @ % at a factor of 0.5, @ % from 4 on; FFT @ % at 0.5, @ from 16 on",
        aes[1][0],
        aes[4][0],
        fft[1][0],
        fft[6][0],
    )
    assert max(s[0] for s in aes[4:]) < 1.5 and max(s[0] for s in fft[6:]) < 0.05
    doc.says(
        "Optimum: AES @ % at 4, @ % at 16, @ % at 64; FFT keeps @ % at 64",
        aes[4][1],
        aes[6][1],
        aes[8][1],
        fft[8][1],
    )
    doc.given(
        "factors on the interface's latencies",
        r"factors from 0\.5 to 64",
        r"those at 0\.5",
        r"at 0\.25",
        r"moves at 0\.5",
        r"factor of 0\.5",
        r"% at 0\.5",
        r"from 4 on",
        r"from 16 on",
        r"at 4, ",
        r"at 16, ",
        r"at 64",
    )
