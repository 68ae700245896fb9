"""First drafts of studies, for ``dse new``: the user's choices, passed to the writer of the text.

Functions of packages of models write the text; they are named as studies name models. This module
finds the catalogs and paths that they need.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dse.model.units import read_value
from dse.problems import InputError, Problem, closest, nearest
from dse.study.catalog import Catalog, Row, find_catalog, load_catalog
from dse.study.code_loading import load_function
from dse.study.study import read_study

QUESTIONS = {
    "communication": "which functions to accelerate, alone or together",
    "partition": "which basic blocks to move, and where the accelerator joins the memory hierarchy",
    "system": "which functions get engines, behind one link and within one area",
    "offload": "which function, behind which interface, shared by how many threads",
}
"""The questions of a study of a profile, the default first."""
_DRAFTS = "objectives.drafts"
_COSTS = {
    "overhead": ("cycle", ("interface_overhead",)),
    "latency": ("cycle", ("interface_latency",)),
    "latency_per_byte": ("cycle/B", ("interface_latency_per_byte", "interface_overhead_per_byte")),
    "shared_link": ("1", ("shared_link",)),
}
_COST_VALUES = tuple(name for _, names in _COSTS.values() for name in names)


class Draft(NamedTuple):
    """The text of a study, its contents in words, and the files that it reads, by place."""

    text: str
    about: str
    files: Mapping[str, bytes] = {}


def example(target: Path) -> Draft:
    """Return a small annotated study for this file."""
    about = "an example to change; --kernel and --from write studies of your own"
    return Draft(_draft("example")(target.stem), about)


def shipped_studies() -> dict[str, Path]:
    """Return the shipped studies by name: of the installed package, or of the clone."""
    package = Path(__file__).parents[1]
    installed = package / "shipped"
    folder = installed if installed.is_dir() else package.parent / "studies"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def from_example(target: Path, name: str, force: bool) -> Draft:
    """Return a shipped study for this file, with the files that it reads.

    InputError if there is no such study, or one of its files would replace another file.
    """
    shipped = shipped_studies()
    if name not in shipped:
        remedy = nearest(name, shipped) or "the package was installed without its studies"
        raise InputError("--example", [Problem("", f"there is no example '{name}'", remedy)])
    path = shipped[name]
    text = path.read_text(encoding="utf-8")
    text = re.sub(r'^name = ".*?"', f'name = "{target.stem}"', text, count=1, flags=re.MULTILINE)
    code = read_study(path).code
    others = [file for file in code if file != path and file.is_relative_to(path.parent)]
    files = {file.relative_to(path.parent).as_posix(): file.read_bytes() for file in others}
    in_the_way = [
        place
        for place, content in files.items()
        if (target.parent / place).exists() and (target.parent / place).read_bytes() != content
    ]
    if in_the_way and not force:
        problems = [Problem(p, "is there already", "--force replaces it") for p in in_the_way]
        raise InputError(str(target.parent), problems)
    note = f"and the files that it reads: {', '.join(sorted(files))}" if len(files) == 1 else ""
    note = note or (f"and the {len(files)} files that it reads" if files else "")
    return Draft(text, f"the shipped study {name} {note}".rstrip(), files)


def from_profile(target: Path, profile: Path, question: str | None) -> Draft:
    """Return a study of a program for this file.

    `target`: the study; it names the profile relative to its folder. `profile`: of one program: of
    ``dse profile``, or what else models read.

    InputError if there is no such profile, or it lacks the data for the question.
    """
    if not profile.exists():
        folder = profile.parent
        known = [p.name for p in folder.iterdir()] if folder.is_dir() else []
        message = f"there is no file '{profile}'"
        remedy = nearest(profile.name, known) or "dse profile SOURCE -o FILE writes one"
        raise InputError("--from", [Problem("", message, remedy)])
    named = Path(os.path.relpath(profile.resolve(), target.parent.resolve())).as_posix()
    question, *others = dict.fromkeys([question or next(iter(QUESTIONS)), *QUESTIONS])
    about = f"{QUESTIONS[question]} (--question {question}; others: {', '.join(others)})"
    return Draft(_draft(question)(profile, named, target.stem), about)


def from_kernel(
    target: Path, kernel: str, host: str | None, engines: Sequence[str], interfaces: Sequence[str]
) -> Draft:
    """Return a study of a kernel of the catalogs for this file.

    `target`: the study; catalogs in its folder go before the shipped ones. `kernel`: a row of the
    catalog ``kernels``, or how such rows begin: the first for the host. `host`: a row of
    ``platforms``; the first on which the kernel was measured if it is None. `engines`,
    `interfaces`: rows of these catalogs. If they are empty: the engines for the kernel, and the
    interfaces that are not made for a single accelerator.

    InputError with every name that is not there, and the nearest one.
    """
    kernels, platforms, known, links = (
        load_catalog(find_catalog(name, target.parent))
        for name in ("kernels", "platforms", "pipelined_engines", "interfaces")
    )
    problems: list[Problem] = []
    row, platform = _measured(kernels, platforms, kernel, host, problems)
    family = row.name.partition("-")[0] if row else ""
    fitting = [name for name in known.rows if name.startswith(family)] if family else []
    chosen = _named(known, engines or fitting, "--engine", problems)
    for engine in chosen if family else ():
        if engine.name not in fitting:
            remedy = f"engines for it: {', '.join(fitting) or 'none, so leave --engine out'}"
            message = f"'{engine.name}' is not for the kernel '{kernel}'"
            problems.append(Problem("--engine", message, remedy))
    usual = [name for name, each in links.rows.items() if "accelerator" not in each.text]
    attached = _named(links, interfaces or usual, "--interface", problems)
    if problems or row is None or platform is None:
        raise InputError("dse new", problems)
    clock = read_value(platform.values["clock"].text, "Hz")
    text = _draft("kernel")(
        target.stem,
        kernel=(row.name, _said(row, sources=True)),
        host=(platform.name, _said(platform, sources=True)),
        clock=(platform.values["clock"].text, clock),
        engines=[(each.name, _said(each)) for each in chosen],
        interfaces=[(each.name, _said(each, () if chosen else _COST_VALUES)) for each in attached],
        costs={each.name: _costs(each, clock) for each in attached},
        work=_work(row, clock),
    )
    hosts = dict.fromkeys(p.name for _, p in _pairs(_rows(kernels, kernel), platforms))
    others = ", ".join(name for name in hosts if name != platform.name)
    note = f" (--host names another: {others})" if host is None and others else ""
    about = f"a study of {kernel} on {platform.name}{note}: which engine, behind which interface"
    return Draft(text, about)


def check_options(
    kernel: str | None,
    profile: Path | None,
    example: str | None,
    question: str | None,
    of_kernel: Mapping[str, Any],
) -> None:
    """Raise InputError if options of ``dse new`` do not go together, with every such option."""
    problems = []
    if example is not None and (kernel is not None or profile is not None):
        message = "is a whole study, and --kernel and --from write another one"
        problems.append(Problem("--example", message, "leave one out"))
    if kernel is not None and profile is not None:
        message = "a study is of a kernel or of a program, not of both"
        problems.append(Problem("--kernel and --from", message, "leave one out"))
    if question is not None and profile is None:
        message = "needs the profile of a program"
        problems.append(Problem("--question", message, "add --from PROFILE"))
    if kernel is None:
        for option, given in of_kernel.items():
            if given:
                message = "needs a kernel"
                problems.append(Problem(option, message, "add --kernel NAME, such as --kernel aes"))
    if problems:
        raise InputError("dse new", problems)


def check_target(target: Path, force: bool) -> None:
    """Raise InputError if a draft could not be written there."""
    problems = []
    if target.is_dir():
        problems.append(Problem("", "is a folder", "give the name of a file, such as study.toml"))
    elif target.suffix != ".toml":
        remedy = f"a study is a TOML file: {target.with_name(target.name + '.toml')}"
        problems.append(Problem("", "does not end in .toml", remedy))
    elif not target.parent.is_dir():
        problems.append(Problem("", f"there is no folder {target.parent}", "make it first"))
    elif target.exists() and not force:
        problems.append(Problem("", "is there already", "--force replaces it"))
    if problems:
        raise InputError(str(target), problems)


def _draft(name: str) -> Any:
    return load_function(f"{_DRAFTS}:{name}", None, "draft of a study")[0]


def _measured(
    kernels: Catalog, platforms: Catalog, kernel: str, host: str | None, problems: list[Problem]
) -> tuple[Row | None, Row | None]:
    """Return the row of a kernel and the host on which it was measured."""
    rows = _rows(kernels, kernel)
    if not rows:
        begins = {n.rsplit("-", cut)[0] for n in kernels.rows for cut in range(n.count("-") + 1)}
        near = closest(kernel, begins)
        remedy = f"did you mean '{near}'?" if near else f"kernels: {', '.join(kernels.rows)}"
        problems.append(Problem("--kernel", f"there is no kernel '{kernel}'", remedy))
    if host is not None and host not in platforms.rows:
        message = f"there is no host '{host}'"
        problems.append(Problem("--host", message, nearest(host, platforms.rows)))
        return (rows[0] if rows else None), None
    pairs = _pairs(rows, platforms)
    for row, platform in pairs:
        if host in (None, platform.name):
            return row, platform
    if rows:
        message = f"'{kernel}' was not measured on {host or 'a host of the catalog'}"
        hosts = ", ".join(dict.fromkeys(p.name for _, p in pairs))
        problems.append(Problem("--host", message, f"hosts: {hosts or 'none'}"))
    return (rows[0] if rows else None), None


def _rows(kernels: Catalog, kernel: str) -> list[Row]:
    return [r for n, r in kernels.rows.items() if n == kernel or n.startswith(f"{kernel}-")]


def _pairs(rows: Sequence[Row], platforms: Catalog) -> list[tuple[Row, Row]]:
    return [(r, p) for r in rows for p in platforms.rows.values() if _is_of(r.name, p.name)]


def _is_of(kernel: str, platform: str) -> bool:
    """Return whether a kernel's row is of a platform: its name ends in it.

    >>> _is_of("aes-sparc-t4", "sparc-t4"), _is_of("fft-gpu-host", "discrete-gpu")
    (True, True)
    """
    gpu = kernel.endswith("-gpu-host") and platform.endswith("-gpu")
    return gpu or kernel.endswith(f"-{platform}")


def _named(
    catalog: Catalog, names: Sequence[str], option: str, problems: list[Problem]
) -> list[Row]:
    """Return rows by name, each once, with a problem for each that is not there."""
    for name in dict.fromkeys(names):
        if name not in catalog.rows:
            message = f"there is no {option.removeprefix('--')} '{name}'"
            problems.append(Problem(option, message, nearest(name, catalog.rows)))
    return [catalog.rows[name] for name in dict.fromkeys(names) if name in catalog.rows]


def _said(row: Row, used: Sequence[str] = (), sources: bool = False) -> str:
    """Return what a row is, perhaps its sources, and which values (of those used) are assumed."""
    assumed = [
        name
        for name, value in row.values.items()
        if "assumption" in value.note + value.source and name in (used or row.values)
    ]
    said = [row.about]
    if sources:
        said += list(dict.fromkeys(value.source for value in row.values.values()))
    if assumed:
        said.append(f"assumed: {', '.join(assumed)}")
    return "; ".join(said)


def _costs(row: Row, clock: float) -> dict[str, float]:
    """Return LogCA's costs of an interface, in cycles of a host of this clock [Hz]."""
    return {
        cost: sum(read_value(row.values[n].text, unit, clock) for n in names if n in row.values)
        for cost, (unit, names) in _COSTS.items()
    }


def _work(kernel: Row, clock: float) -> tuple[float, float]:
    """Return the host's work for a byte [cycle/B], and the exponent with which it grows."""
    index = read_value(kernel.values["computational_index"].text, "cycle/B", clock)
    return index, read_value(kernel.values["complexity"].text, "1")
