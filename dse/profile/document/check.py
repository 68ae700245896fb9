"""Check a profile after reading: its fields, and the names that they refer to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from dse.problems import Problem, nearest
from dse.profile.document.schema import Document

WRITTEN = "a profile is written by: dse profile SOURCE -o FILE"

_SHOWN = 10  # problems of one kind; a file with more is wrong as a whole


def field_problems(errors: Iterable[Mapping[str, Any]], fields: Iterable[str]) -> list[Problem]:
    """Return what pydantic found, in the words of the other messages.

    Parameters
    ----------
    errors : iterable of mapping
        As ``ValidationError.errors`` gives them.
    fields : iterable of str
        The fields of a profile.
    """
    problems, missing = [], []
    for error in errors:
        where = ".".join(map(str, error["loc"]))
        if error["type"] == "missing" and len(error["loc"]) == 1:
            missing.append(where)
        elif error["type"] == "missing":
            problems.append(Problem(where, "is missing"))
        elif error["type"] == "extra_forbidden":
            near = nearest(where, fields) if len(error["loc"]) == 1 else ""
            problems.append(Problem(where, "no profile has this field", near))
        else:
            remedy = str(error["msg"]).replace("Input should be", "it should be")
            problems.append(Problem(where, f"{_short(error['input'])} is not allowed", remedy))
    if missing:
        message = f"this is not a whole profile: it lacks {', '.join(missing)}"
        problems.insert(0, Problem("", message, WRITTEN))
    return problems


def reference_problems(profile: Document) -> list[Problem]:
    """Return what in a profile refers to a function, block or cache that is not there.

    Ten problems of a field at most.
    """
    twice = [
        *_twice("functions", "name", (f.name for f in profile.functions)),
        *_twice("blocks", "id", (b.id for b in profile.blocks)),
    ]
    rest = (*_functions(profile), *_blocks(profile), *_caches(profile), *_tree(profile))
    found = twice or rest  # a reference to a name that two things share cannot be checked
    shown: Counter[str] = Counter()
    problems = []
    for problem in found:
        field = problem.where.partition(".")[0]
        shown[field] += 1
        if shown[field] <= _SHOWN:
            problems.append(problem)
    return problems


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _twice(field: str, key: str, values: Iterable[object]) -> Iterator[Problem]:
    seen = set()
    for i, value in enumerate(values):
        if value in seen:
            yield Problem(f"{field}.{i}.{key}", f"{value!r} is there twice", "give each its own")
        seen.add(value)


def _functions(profile: Document) -> Iterator[Problem]:
    names = set(profile.names)
    used: list[tuple[str, str]] = [
        *((f"blocks.{i}.function", b.function) for i, b in enumerate(profile.blocks)),
        *((f"calls.{i}.to", c.to) for i, c in enumerate(profile.calls) if c.to[:1] != "("),
        *((f"call_tree.{i}.function", c.function) for i, c in enumerate(profile.call_tree)),
    ]
    if profile.threads:
        starts = enumerate(profile.threads.others)
        used += [(f"threads.others.{i}.function", start.function) for i, start in starts]
    for field in ("transfers", "transfers_into", "transfers_out", "fetched", "returned"):
        for i, moved in enumerate(getattr(profile, field)):
            ends = (("from", moved.source), ("to", moved.to))
            used += [(f"{field}.{i}.{key}", name) for key, name in ends if name[:1] != "("]
    for where, name in used:
        if name not in names:
            yield Problem(where, f"there is no function {name!r}", nearest(name, names))


def _blocks(profile: Document) -> Iterator[Problem]:
    known = {b.id for b in profile.blocks}
    for i, function in enumerate(profile.functions):
        if function.entry is not None:
            yield from _block(known, f"functions.{i}.entry", function.entry)
    for field in ("edges", "registers", "crossings"):
        for i, row in enumerate(getattr(profile, field)):
            yield from _block(known, f"{field}.{i}.from", row.source)
            for to in (row.to,) if field == "edges" else row.to:
                yield from _block(known, f"{field}.{i}.to", to)
    for i, call in enumerate(profile.calls):
        yield from _block(known, f"calls.{i}.from", call.source)
    for field in ("accesses", "chains"):
        for i, row in enumerate(getattr(profile, field)):
            yield from _block(known, f"{field}.{i}.block", row.block)
    for i, read in enumerate(profile.reads):
        if read.access >= len(profile.accesses):
            message = f"there is no access {read.access}"
            remedy = f"a position in accesses, below {len(profile.accesses)}"
            yield Problem(f"reads.{i}.access", message, remedy)
        if read.source is not None:
            yield from _block(known, f"reads.{i}.from", read.source)


def _block(known: Container[int], where: str, number: int) -> Iterator[Problem]:
    if number not in known:
        yield Problem(where, f"there is no block {number}", "give the id of one of the blocks")


def _caches(profile: Document) -> Iterator[Problem]:
    count = len(profile.settings.caches)
    for i, access in enumerate(profile.accesses):
        if len(access.hits) != count:
            message = f"has {len(access.hits)} triples for {count} cache configurations"
            yield Problem(f"accesses.{i}.hits", message, "one for each of settings.caches")
    for i, crossing in enumerate(profile.crossings):
        if crossing.cache >= count:
            message = f"there is no cache configuration {crossing.cache}"
            remedy = f"a position in settings.caches, below {count}"
            yield Problem(f"crossings.{i}.cache", message, remedy)


def _tree(profile: Document) -> Iterator[Problem]:
    for i, node in enumerate(profile.call_tree):
        if node.parent >= i:
            message = f"{node.parent} is not an earlier node"
            yield Problem(f"call_tree.{i}.parent", message, f"below {i}, or -1 for a root")
            return
    for i, row in enumerate(profile.recursions):
        at = row.source if row.source < len(profile.call_tree) else -1
        while at > row.to:
            at = profile.call_tree[at].parent
        if at != row.to:
            message = f"{row.to} is not {row.source}, nor above it in the call tree"
            yield Problem(f"recursions.{i}.to", message, "a position on the way to the root")
