"""Where `dse fit` may write: never over its table, and over other files only if told to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from dse.problems import Problem

_KINDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "-o": ("a catalog is a TOML file", (".toml",)),
    "--html": ("a page is an HTML file", (".html", ".htm")),
    "--json": ("data are a JSON file", (".json",)),
}
_ENDINGS = (".csv", ".tsv", ".txt", *(end for _, ends in _KINDS.values() for end in ends))


def target_problems(
    table: Path, targets: Mapping[str, Path | None], force: bool
) -> Iterator[Problem]:
    """Yield why files cannot be written.

    Parameters
    ----------
    table : Path
        The measured times.
    targets : mapping of str to (Path or None)
        What to write, by option: ``-o``, ``--html`` and ``--json``.
    force : bool
        Whether files that are there may be replaced; the table may not.
    """
    taken = {table.resolve(): "the table of times itself"}
    for option, target in targets.items():
        if target is None:
            continue
        place = target.resolve()
        if place in taken:
            yield Problem(option, f"{target} is {taken[place]}", "give a name of its own")
        else:
            yield from _problem(option, target, force)
        taken.setdefault(place, f"what {option} writes")


def _problem(option: str, target: Path, force: bool) -> Iterator[Problem]:
    """Yield what is wrong with one file, at most one problem."""
    kind, endings = _KINDS[option]
    if target.is_dir():
        remedy = f"give the name of a file, such as {target / f'fit{endings[0]}'}"
        yield Problem(option, f"{target} is a folder", remedy)
    elif target.suffix not in endings:
        known = target.suffix in _ENDINGS
        right = target.with_name((target.stem if known else target.name) + endings[0])
        message = f"{target} does not end in {' or '.join(endings)}"
        yield Problem(option, message, f"{kind}: {right}")
    elif not target.parent.is_dir():
        yield Problem(option, f"there is no folder {target.parent}", "make it first")
    elif target.exists() and not force:
        yield Problem(option, f"{target} is there already", "--force replaces it")
