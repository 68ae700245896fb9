"""The tables of the build and the numbers of a run, put together as a profile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.model.values import plural
from dse.profile.build.classes import CLASSES, COMPUTATION
from dse.profile.build.effects import has_unknown_effects, note_library_functions
from dse.profile.build.hooks import plain_name
from dse.profile.build.library_io import does_io
from dse.profile.document import (
    OUTSIDE,
    UNKNOWN,
    Access,
    Block,
    Call,
    Chain,
    Edge,
    Function,
    Profile,
    Program,
    Read,
    Register,
    Run,
    Settings,
    Threads,
    ThreadStart,
    Transfer,
    Unaccounted,
    Unmodelled,
)
from dse.profile.run.crossings import crossings
from dse.profile.run.names import function_names
from dse.profile.run.result import Result
from dse.profile.run.tree import fold_tree

WORD = 4  # bytes of memory that count together in a working set, unless chunks are larger


class Assembly:
    """The numbers of one run with the tables of its build.

    Parameters
    ----------
    tables : dict
        The result of :func:`dse.profile.build.build.build_object`.
    result : Result
        The numbers of the run.
    modelled : frozenset of str
        Library functions whose effects are known.
    """

    def __init__(self, tables: dict[str, Any], result: Result, modelled: frozenset[str]) -> None:
        self.tables, self.result, self.modelled = tables, result, modelled
        self.names = function_names(tables)
        self.own, self.foreign = tables["functions"], list(tables["foreign"])
        counts = result.sections["counts"].astype(np.int64)
        self.executions = [int(counts[slots].sum()) for slots in tables["counters"]]
        self.edge_counts = [int(counts[slots].sum()) for _, _, slots in tables["edges"]]
        self.tree = fold_tree(result.nodes, self.names)
        self.contexts, self.inclusive = self.tree.contexts, self.tree.inclusive
        self.foreign_calls = self._foreign_calls()

    def profile(self, program: Program, settings: Settings, run: Run) -> Profile:
        """Return the document."""
        accesses, sites = self._accesses(len(settings.caches))
        return Profile(
            program=program,
            settings=settings,
            run=run,
            functions=tuple(self._functions(max(WORD, settings.chunk))),
            transfers=self._transfers("moved"),
            transfers_into=self._transfers("into"),
            transfers_out=self._transfers("out"),
            fetched=self._transfers("into", 3),
            returned=self._transfers("out", 3),
            call_tree=self.contexts,
            recursions=self.tree.recursions,
            blocks=tuple(self._blocks()),
            edges=tuple(
                Edge(source=a, to=b, count=count)
                for (a, b, _), count in zip(self.tables["edges"], self.edge_counts, strict=True)
            ),
            calls=tuple(self._calls()),
            registers=tuple(self._registers()),
            accesses=accesses,
            reads=tuple(self._reads(sites)),
            crossings=crossings(self.result, len(settings.caches)),
            chains=tuple(self._chains()),
            unaccounted=self._unaccounted(),
            threads=self._threads(),
            notes=tuple(self._notes(run, settings.region)),
        )

    def _foreign_calls(self) -> list[int]:
        calls = dict.fromkeys(self.foreign, 0)
        for call in self.tables["calls"]:
            if call["target"] in calls:
                calls[call["target"]] += self.executions[call["block"]]
        if len(self.result.nodes):
            seen: dict[str, int] = defaultdict(int)
            for context in self.contexts:
                seen[context.function] += context.invocations
            for i, symbol in enumerate(self.foreign):
                calls[symbol] = seen.get(self.names[len(self.own) + i], calls[symbol])
        return list(calls.values())

    def _functions(self, word: int) -> list[Function]:
        work = [0] * len(self.own)
        for block, times in zip(self.tables["blocks"], self.executions, strict=True):
            each = sum(block["instructions"].get(name, 0) for name in COMPUTATION)
            work[block["function"]] += each * times
        local = self.result.sections.get("local", np.zeros(len(self.names), np.uint64))
        measured = bool(len(self.result.nodes))
        touched, touched_in_call = (
            (word * self.result.sections.get(name, np.zeros_like(local)).astype(np.int64)).tolist()
            for name in ("run words", "call words")
        )
        files_mapped = self.result.files_mapped
        functions = [
            Function(
                name=self.names[i],
                symbol=f["symbol"],
                file=f["file"],
                line=f["line"],
                entry=f["entry"],
                invocations=self.executions[f["entry"]],
                computation=work[i],
                computation_inclusive=self.inclusive.get(i, 0) if measured else None,
                local_bytes=int(local[i]),
                working_set=touched[i],
                call_working_set=touched_in_call[i],
                system=f["system"],
                io=False,
            )
            for i, f in enumerate(self.own)
        ]
        for i, symbol in enumerate(self.foreign, len(self.own)):
            block = len(self.tables["blocks"]) + i - len(self.own)
            functions.append(
                Function(
                    name=self.names[i],
                    symbol=symbol,
                    foreign=True,
                    entry=block,
                    invocations=self.foreign_calls[i - len(self.own)],
                    computation=0,
                    computation_inclusive=self.inclusive.get(i, 0) if measured else None,
                    local_bytes=int(local[i]),
                    working_set=touched[i],
                    call_working_set=touched_in_call[i],
                    io=does_io(symbol) and (plain_name(symbol) != "mmap" or files_mapped),
                )
            )
        return functions

    def _blocks(self) -> list[Block]:
        followed = [0] * len(self.executions)
        for (source, _, _), count in zip(self.tables["edges"], self.edge_counts, strict=True):
            followed[source] += count
        blocks = [
            Block(
                id=i,
                function=self.names[b["function"]],
                name=b["name"],
                line=b["line"],
                executions=self.executions[i],
                exits=self.executions[i] - followed[i],
                area=sum(b["instructions"].values()),
                instructions={
                    name: b["instructions"][name] for name in CLASSES if name in b["instructions"]
                },
            )
            for i, b in enumerate(self.tables["blocks"])
        ]
        for i, calls in enumerate(self.foreign_calls):
            blocks.append(
                Block(
                    id=len(blocks),
                    function=self.names[len(self.own) + i],
                    name="(library)",
                    line=0,
                    executions=calls,
                    exits=calls,
                    area=0,
                    instructions={},
                )
            )
        return blocks

    def _calls(self) -> list[Call]:
        numbers = {f["symbol"]: i for i, f in enumerate(self.own)}
        numbers |= {symbol: i for i, symbol in enumerate(self.foreign, len(self.own))}
        calls: list[Call] = []
        through: dict[int, dict[str, Any]] = {}
        for call in self.tables["calls"]:
            count = self.executions[call["block"]]
            if call["target"] not in numbers:
                through.setdefault(call["block"], call)
            elif count:
                calls.append(
                    Call(
                        source=call["block"],
                        to=self.names[numbers[call["target"]]],
                        count=count,
                        arguments=call["arguments"],
                        result=call["result"],
                    )
                )
        by_address = {
            int(address) & 0xFFFFFFFF: self.names[i]
            for i, address in enumerate(self.result.sections.get("addresses", ()))
        }
        for target, block, count, _ in sorted(self.result.rows("indirect", 4).tolist()):
            calls.append(
                Call(
                    source=block,
                    to=by_address.get(target, OUTSIDE),
                    count=count,
                    arguments=through[block]["arguments"],
                    result=through[block]["result"],
                )
            )
        return sorted(calls, key=lambda call: (call.source, call.to))

    def _registers(self) -> Iterator[Register]:
        """Yield the values of blocks that ran, with their uses in blocks that ran."""
        for r in self.tables["registers"]:
            uses = tuple(block for block in r["uses"] if self.executions[block])
            if uses and self.executions[r["definition"]]:
                yield Register(
                    name=r["name"], source=r["definition"], to=uses, argument=r["argument"]
                )

    def _accesses(self, caches: int) -> tuple[tuple[Access, ...], dict[int, int]]:
        """Return the accesses of blocks that ran, and their places by site.

        For the library, the accesses that happened. A block that began before a region of
        interest counts with its part inside.
        """
        count = len(self.tables["accesses"]) + 2 * len(self.foreign)
        found = [self.result.rows(f"hits{k}", 3) for k in range(caches)]
        hits = np.stack(found, axis=1) if found else np.zeros((count, 0, 3), np.uint64)
        listed: NDArray[np.bool_] = np.asarray(hits.any(axis=(1, 2)))
        listed[self.result.rows("reads", 4)[:, 1].astype(np.int64)] = True
        for site, access in enumerate(self.tables["accesses"]):
            listed[site] |= self.executions[access["block"]] > 0
        sites = {site: at for at, site in enumerate(np.flatnonzero(listed).tolist())}
        return tuple(self._access(site, hits[site].tolist()) for site in sites), sites

    def _access(self, site: int, hits: Any) -> Access:
        program = len(self.tables["accesses"])
        if site < program:
            a = self.tables["accesses"][site]
            return Access(
                block=a["block"], kind=a["kind"], size=a["size"], line=a["line"], hits=hits
            )
        function, written = divmod(site - program, 2)
        block = len(self.tables["blocks"]) + function
        return Access(block=block, kind="store" if written else "load", size=0, line=0, hits=hits)

    def _reads(self, sites: dict[int, int]) -> list[Read]:
        rows = self.result.rows("reads", 4).tolist()
        return [
            Read(access=access, source=block - 1 if block else None, bytes=count)
            for access, block, count in sorted((sites[s], b, n) for b, s, n, _ in rows)
        ]

    def _chains(self) -> Iterator[Chain]:
        edges = {
            (a, b): count
            for (a, b, _), count in zip(self.tables["edges"], self.edge_counts, strict=True)
        }
        for chain in self.tables["chains"]:
            starts = sum(edges[a, b] for a, b in chain["starts"])
            steps = self.executions[chain["block"]] - starts
            if steps > 0:
                yield Chain(
                    block=chain["block"], length=chain["length"], steps=steps, starts=starts
                )

    def _transfers(self, section: str, column: int = 2) -> tuple[Transfer, ...]:
        rows: NDArray[np.uint64] = self.result.rows(section, 4)
        return tuple(
            Transfer(source=self.names[a], to=self.names[b], bytes=moved)
            for a, b, moved in sorted(rows[:, [0, 1, column]].tolist())
            if moved
        )

    def _unaccounted(self) -> Unaccounted:
        transfers = self._transfers("moved")
        unknown = sum(t.bytes for t in transfers if t.source == UNKNOWN)
        local = int(self.result.sections.get("local", np.zeros(1, np.uint64)).sum())
        traffic = sum(t.bytes for t in transfers) + local
        functions = [
            Unmodelled(name=self.names[len(self.own) + i], calls=calls)
            for i, (symbol, calls) in enumerate(zip(self.foreign, self.foreign_calls, strict=True))
            if self.tables["foreign"][symbol]
            and calls
            and has_unknown_effects(symbol, self.modelled)
        ]
        return Unaccounted(
            bytes=unknown, share=unknown / traffic if traffic else 0.0, functions=tuple(functions)
        )

    def _threads(self) -> Threads | None:
        starts = self.result.thread_starts
        others = [ThreadStart(function=self.names[i], count=starts[i]) for i in starts.nonzero()[0]]
        if not others:
            return None
        called = self.result.other_calls.nonzero()[0]
        return Threads(
            others=tuple(sorted(others, key=lambda start: -start.count)),
            functions=tuple(self.names[len(self.own) + i] for i in called),
        )

    def _assembly_notes(self) -> Iterator[str]:
        """Yield notes on assembly, which the profile cannot see."""
        ran = [(block, self.executions[block]) for block in self.tables["assembly"]]
        if times := sum(count for _, count in ran):
            blocks = self.tables["blocks"]
            names = dict.fromkeys(self.names[blocks[b]["function"]] for b, n in ran if n)
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            yield (
                f"inline assembly ran {plural(times, 'time')}, in {', '.join([*names][:3])}{more}: "
                "the profile does not count its computation, reads and writes"
            )
        if labels := self.tables["file_assembly"]:
            named = f" ({', '.join(labels[:3])})" if labels else ""
            yield (
                f"assembly outside of functions{named} is part of the program: the profile "
                "does not count its computation, reads and writes"
            )

    def _notes(self, run: Run, region: str | None) -> list[str]:
        calls = dict(zip(self.foreign, self.foreign_calls, strict=True))
        notes = [*self._assembly_notes(), *note_library_functions(calls)]
        if loaded := [Path(name).name for name in self.result.loaded]:
            notes.append(f"not instrumented: {', '.join(loaded)} (loaded by dlopen)")
        if not run.complete:
            notes.append("the run did not complete: counts are those up to its end")
        if not run.addresses_fixed:
            notes.append("addresses were randomised: cache results vary from run to run")
        if region is not None and not any(self.executions):
            notes.append(f"nothing was counted: the region {region} was not reached")
        if self.result.histories_merged:
            notes.append(
                "memory had too many histories: crossings, fetched, returned and working sets "
                "are lower bounds"
            )
        if run.tree_merged:
            notes.append("the call tree was too large: contexts were merged")
        return notes
