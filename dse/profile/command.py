"""From sources to a profile: compile, instrument, run, read.

profile = profile_program(Options(sources=(Path("rotate.c"),), arguments=("i",)))
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any

from dse.problems import InputError, Problem, nearest
from dse.profile.build.build import Job, build_object
from dse.profile.build.effects import (
    list_modelled_functions,
    refuse_function,
    refuse_library_thread,
    refuse_parallel,
    warn_before_run,
)
from dse.profile.build.elf import write_sparse
from dse.profile.build.frontend import link_program
from dse.profile.build.idle import remove_idle_hooks
from dse.profile.build.kept import build_kept
from dse.profile.build.runtime_options import (
    check_caches,
    compile_runtime,
    compile_settings,
    define_caches,
)
from dse.profile.build.threads import has_threads
from dse.profile.build.toolchain import Choice, Toolchain, find_toolchain
from dse.profile.compiler.parts import Parts, collect_parts
from dse.profile.critical_path.build import build_timed_program
from dse.profile.critical_path.measure import measure_critical_paths
from dse.profile.document import (
    CacheLevels,
    LibraryWork,
    Profile,
    Program,
    Run,
    Settings,
    Threads,
)
from dse.profile.errors import NotMeasuredError, source_error
from dse.profile.library.cpu_time import compile_clocks, measure_cpu_fraction
from dse.profile.library.measure import MachineCounts, find_valgrind, measure_machine_counts
from dse.profile.library.plain import build_plain_program
from dse.profile.run.assembly import Assembly
from dse.profile.run.inputs import keep_input
from dse.profile.run.lines import add_lines
from dse.profile.run.names import ORIGINS, function_names
from dse.profile.run.result import read_result
from dse.profile.run.run import Limits, Outcome, environment, run_program

KENTER = CacheLevels(l1=32 << 10, l2=4 << 20, line=64)
"""Private L1 and shared L2 of Table I of Kenter et al. (2010), direct-mapped; line as usual."""

USUAL = CacheLevels(l1=32 << 10, l2=4 << 20, line=64, l1_ways=8, l2_ways=16)
"""The same sizes in as many ways as usual: where an array happens to begin decides little."""

NARROW = 2**16 - 2
"""Blocks that fit in two bytes a cell of the shadow memory; more take four."""

_REGION = re.compile(
    r"(?P<start>[^.]+?)(?::(?P<first>\d+)(?P<to>-(?P<last>\d*))?)?(?:\.\.(?P<stop>.+))?"
)


@dataclass(frozen=True, slots=True)
class ProfileOptions:
    """Settings of a profile.

    Parameters
    ----------
    sources : tuple of Path
        C and C++ sources (or files of LLVM IR).
    arguments : tuple of str
        Of the program.
    caches : tuple of CacheLevels
        Cache configurations to simulate, each with its results; empty: only counts.
    transfers : bool
        Whether to follow data between functions.
    libraries : bool, optional
        Whether to run the program again under valgrind, for the machine instructions of its
        functions and libraries; by default only if libraries may do a noticeable part of its work.
    critical_paths : bool
        Whether to run the program a second time, for the critical path of each function.
    chunk : int
        Bytes of memory that are followed together, a power of two from 1 to 64.
    optimisation : int
        0: variables in memory; 1 (the papers' intent) to 3: in registers.
    functions : tuple of str or None
        The functions that transfers and the call tree distinguish; others count as their caller.
    region : str or None
        Where to count: ``"f"``, ``"f:3"``, ``"f:3-5"``, ``"f:3-"`` (calls of f), ``"f..g"``.
    limits : Limits
        Of the run.
    environment : tuple of str
        Environment variables to pass on.
    flags, link_flags : tuple of str
        For the compiler and the linker.
    compiler : {"auto", "zig", "clang"}
    """

    sources: tuple[Path, ...]
    arguments: tuple[str, ...] = ()
    caches: tuple[CacheLevels, ...] = (USUAL,)
    transfers: bool = True
    libraries: bool | None = None
    critical_paths: bool = False
    chunk: int = 1
    optimisation: int = 1
    functions: tuple[str, ...] | None = None
    region: str | None = None
    limits: Limits = field(default_factory=Limits)
    environment: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    link_flags: tuple[str, ...] = ()
    compiler: Choice = "auto"


@dataclass(frozen=True, slots=True)
class InstrumentedProgram:
    """An instrumented program, ready to run again and again."""

    options: ProfileOptions
    executable: Path
    result: Path
    tables: dict[str, Any]
    toolchain: Toolchain
    parts: Parts
    cxx: bool  # whether it is linked as C++


def build_program(
    options: ProfileOptions, folder: Path, trace: Path | None = None
) -> InstrumentedProgram:
    """Build the instrumented program in `folder`; with `trace`, it writes its full trace."""
    _check(options)
    folder = folder.resolve()
    toolchain = find_toolchain(options.compiler)
    given = options.sources, options.optimisation, options.flags, options.link_flags
    parts = collect_parts(*given, toolchain, folder)
    result = folder / "result"
    job = Job(
        modules=[str(path) for path in parts.modules],
        object=str(folder / "program.o"),
        tables=str(folder / "tables.json"),
        trace=trace is not None,
        modelled=list(list_modelled_functions()),
    )
    tables = build_kept(job, folder) if parts.directory else build_object(job, folder)
    refuse_parallel(tables["foreign"])
    files = {"result_file": str(result), "trace_file": str(trace.resolve()) if trace else ""}
    region = _region(options.region, tables) if options.region else ()
    compile_settings(_framed(options, tables), region, files, folder / "settings.o")
    definitions: dict[str, str | int | None] = {}
    if options.caches:
        name, value = define_caches(options.caches).split("=", 1)
        definitions[name] = value
    if any(function["symbol"] == "main" for function in tables["functions"]):
        definitions["DSE_MAIN"] = None
    if options.transfers or options.region is not None or trace is not None:
        definitions["DSE_TREE"] = None
    if options.transfers:
        definitions |= {"DSE_TRANSFERS": None, "DSE_CHUNK": options.chunk.bit_length() - 1}
    if options.region:
        definitions["DSE_REGION"] = None
    cxx = parts.cxx or any(name.startswith("_Z") for name in tables["foreign"])
    if cxx:
        definitions["DSE_CXX"] = None
    if len(tables["blocks"]) + len(tables["foreign"]) > NARROW:
        definitions["DSE_WIDE"] = None
    if has_threads(tables["foreign"]):
        definitions["DSE_THREADS"] = None
    if trace:
        definitions["DSE_TRACE"] = None
    compile_runtime(toolchain, definitions, folder / "runtime.o")
    unread = () if "DSE_TREE" in definitions else ("__dse_work",)
    made, runtime = ((folder / name).read_bytes() for name in ("program.o", "runtime.o"))
    write_sparse(folder / "program.o", remove_idle_hooks(made, runtime, unread))
    executable = folder / parts.name
    # The program comes last: the heap begins behind it, and earlier sections cannot shift it.
    objects = (folder / "runtime.o", folder / "settings.o", folder / "program.o")
    link_program(toolchain, objects, executable, cxx, parts.arguments, parts.directory)
    return InstrumentedProgram(options, executable, result, tables, toolchain, parts, cxx)


def measure_program(
    built: InstrumentedProgram,
    arguments: tuple[str, ...] | None = None,
    stdin: IO[Any] | int | None = None,
    stdout: IO[Any] | int | None = None,
    progress: Callable[[float, int], None] | None = None,
) -> Profile:
    """Run a built program and return its profile, marked as partial if the run did not complete.

    Raises
    ------
    InputError
        If the run left nothing to read.
    """
    options = built.options
    given = options.arguments if arguments is None else arguments
    built.result.unlink(missing_ok=True)
    environ = environment(options.environment)
    outcome = run_program(built.executable, given, options.limits, environ, stdin, stdout, progress)
    result = read_result(built.result)
    status = [int(x) for x in result.sections["status"]]
    if result.reason == "refused":
        raise refuse_function(list(built.tables["foreign"])[status[1]])
    if result.reason == "library thread":
        raise refuse_library_thread(function_names(built.tables)[status[1]])
    assembly = Assembly(built.tables, result, frozenset(list_modelled_functions()))
    shadow = int(result.sections.get("shadow", [0])[0])
    parts = built.parts
    program = Program(
        sources=tuple(source.name for source in parts.sources),
        digest=parts.digest,
        arguments=given,
        optimisation=parts.optimisation,
        flags=parts.flags,
        compiler=built.toolchain.version,
        target=re.sub(r"(linux)[\d.]*", r"\1", built.tables["triple"]),
    )
    settings = Settings(
        caches=options.caches,
        transfers=options.transfers,
        chunk=options.chunk,
        functions=options.functions,
        region=options.region,
    )
    run = _run(outcome, result.reason, status, shadow)
    paths = (f["path"] for f in built.tables["functions"] if not f["system"])
    profile = add_lines(assembly.profile(program, settings, run), parts.sources, paths)
    return profile.model_copy(update={"notes": (*parts.notes, *profile.notes)})


def profile_program(
    options: ProfileOptions,
    stdin: IO[Any] | int | None = None,
    stdout: IO[Any] | int | None = None,
    progress: Callable[[float, int], None] | None = None,
    notice: Callable[[str], object] | None = None,
) -> Profile:
    """Build and run a program in a temporary folder and return its profile.

    Parameters
    ----------
    notice : callable, optional
        Called before the run with each sentence on what would end it.
    """
    with tempfile.TemporaryDirectory(prefix="dse-profile-") as name:
        folder = Path(name)
        built = build_program(options, folder)
        if notice:
            for sentence in warn_before_run(built.tables["foreign"]):
                notice(sentence)
        threads = has_threads(built.tables["foreign"])
        libraries = options.libraries is not False
        if not (options.critical_paths or libraries or threads):
            return measure_program(built, stdin=stdin, stdout=stdout, progress=progress)
        further = folder / "input"
        with keep_input(stdin, further) as first:
            profile = measure_program(built, stdin=first, stdout=stdout, progress=progress)
        if profile.threads:
            profile = _with_cpu_fraction(profile, profile.threads, built, further, folder, progress)
        if libraries:
            profile = _with_libraries(profile, built, further, folder, progress)
        if options.critical_paths:
            profile = _with_critical_paths(profile, built, further, folder, progress)
        return profile


def _with_cpu_fraction(
    profile: Profile,
    threads: Threads,
    built: InstrumentedProgram,
    given: Path,
    folder: Path,
    progress: Callable[[float, int], None] | None,
) -> Profile:
    """Return a profile with the CPU time of its other threads, or the reason why it has none."""
    options, clocks, result = built.options, folder / "clocks.o", folder / "cpu_time"
    variables, notes = environment(options.environment), profile.notes
    try:
        if not profile.run.complete:
            raise NotMeasuredError("the run did not complete")
        compile_clocks(built.toolchain, result, clocks)
        plain = build_plain_program(built.parts, built.toolchain, built.cxx, folder, [clocks])
        with given.open("rb") as stdin:
            fraction = measure_cpu_fraction(
                plain, result, options.arguments, options.limits, variables, stdin, progress
            )
        threads = threads.model_copy(update={"cpu_fraction": fraction})
    except NotMeasuredError as error:
        notes = (*notes, f"the CPU time of other threads was not measured: {error}")
    return profile.model_copy(update={"threads": threads, "notes": notes})


def _with_libraries(
    profile: Profile,
    built: InstrumentedProgram,
    given: Path,
    folder: Path,
    progress: Callable[[float, int], None] | None,
) -> Profile:
    """Return a profile with machine instructions, or with the reason why it has none."""
    wanted = built.options.libraries or profile.libraries_matter
    if not profile.run.complete or not wanted:
        return profile
    if built.options.region:
        note = "machine instructions were not counted: valgrind would count outside of the region"
        return profile.model_copy(update={"notes": (*profile.notes, note)})
    options, own = built.options, {f.symbol for f in profile.functions if not f.foreign}
    variables = environment(options.environment)
    try:
        valgrind = find_valgrind()
        plain = build_plain_program(built.parts, built.toolchain, built.cxx, folder)
        settings = options.arguments, options.limits, variables
        cache = options.caches[0] if options.caches else None
        with given.open("rb") as stdin:
            counts, misses = measure_machine_counts(
                valgrind, plain, own, cache, *settings, stdin, folder, progress
            )
    except NotMeasuredError as error:
        note = f"machine instructions were not counted: {error}"
        return profile.model_copy(update={"notes": (*profile.notes, note)})
    functions = tuple(
        f.model_copy(
            update={
                "instructions": counts.own.get(f.symbol),
                "libraries": tuple(_library_work(f.symbol, counts, misses)),
            }
        )
        for f in profile.functions
    )
    run = profile.run.model_copy(
        update={"libraries_counted": True, "l1_misses": misses.total if misses else None}
    )
    return profile.model_copy(update={"functions": functions, "run": run})


def _library_work(
    symbol: str, counts: MachineCounts, misses: MachineCounts | None
) -> Iterator[LibraryWork]:
    """Yield the library code that a function calls, with most instructions first."""
    for code, count in counts.libraries.get(symbol, Counter()).most_common():
        missed = misses.libraries.get(symbol, Counter())[code] if misses else None
        yield LibraryWork(
            library=code.library, instructions=count, l1_misses=missed, copies=code.copies
        )


def _with_critical_paths(
    profile: Profile,
    built: InstrumentedProgram,
    given: Path,
    folder: Path,
    progress: Callable[[float, int], None] | None,
) -> Profile:
    """Return a profile with critical paths, or with the reason why it has none."""
    if not profile.run.complete:
        return profile
    options = built.options
    try:
        if profile.threads:
            raise NotMeasuredError("the program has several threads")
        timed = build_timed_program(built.parts, built.toolchain, built.cxx, folder)
        variables = environment(options.environment)
        with given.open("rb") as stdin:
            paths = measure_critical_paths(
                timed, options.arguments, options.limits, variables, stdin, progress
            )
    except NotMeasuredError as error:
        note = f"critical paths were not measured: {error}"
        return profile.model_copy(update={"notes": (*profile.notes, note)})
    functions = tuple(
        function.model_copy(update={"critical_path": path})
        for function, path in zip_longest(profile.functions, paths)
    )
    return profile.model_copy(update={"functions": functions})


def _run(outcome: Outcome, reason: str, status: list[int], shadow: int) -> Run:
    ended: Any = outcome.stopped or reason
    if ended == "exit" and outcome.returncode < 0:
        ended = "signal"
    return Run(
        complete=ended == "exit",
        ended=ended,
        exit_status=outcome.returncode if outcome.returncode >= 0 and ended == "exit" else None,
        signal=-outcome.returncode if outcome.returncode < 0 and ended == "signal" else None,
        invocations=max(0, status[2] - 8),
        shadow_bytes=shadow,
        addresses_fixed=bool(status[4]),
        tree_merged=bool(status[3]),
    )


def _check(options: ProfileOptions) -> None:
    problems = check_caches(options.caches)
    if options.chunk not in (1, 2, 4, 8, 16, 32, 64):
        allowed = "1, 2, 4, 8, 16, 32 or 64 B"
        problems.append(Problem("chunk", f"a chunk of {options.chunk} B", allowed))
    if options.optimisation not in (0, 1, 2, 3):
        problems.append(Problem("optimisation", f"level {options.optimisation}", "0, 1, 2 or 3"))
    seconds, memory = options.limits.seconds, options.limits.memory
    if seconds is not None and not seconds > 0:
        problems.append(Problem("time limit", f"{seconds:g} s", "more than 0 s"))
    if memory is not None and memory <= 0:
        problems.append(Problem("memory limit", f"{memory} B", "more than 0 B"))
    try:
        _split_region(options.region or "main")
    except ValueError as error:
        problems.append(Problem("region", f"'{options.region}'", str(error)))
    for name in options.environment:
        if name not in os.environ:
            problems.append(Problem("environment", f"{name} is not set"))
    if problems:
        raise InputError("profile", problems)


def _framed(options: ProfileOptions, tables: dict[str, Any]) -> list[bool]:
    """Return for each function whether its calls are separate invocations."""
    own, foreign = tables["functions"], list(tables["foreign"])
    if options.functions is None:
        return [True] * (len(own) + len(foreign))
    numbers = {_number(name, tables) for name in options.functions}
    wanted = {*options.functions, "main"}
    named = [f["name"] in wanted or f["symbol"] in wanted for f in own]
    named += [symbol in wanted for symbol in foreign]
    return [i in numbers or each for i, each in enumerate(named)]


def _number(name: str, tables: dict[str, Any]) -> int:
    """Return the number of a function by its name or symbol."""
    names = function_names(tables)
    for i, function in enumerate(tables["functions"]):
        if name in (names[i], function["name"], function["symbol"]):
            return i
    for i, symbol in enumerate(tables["foreign"], len(tables["functions"])):
        if name in (names[i], symbol):
            return i
    raise source_error(
        "profile", f"the program has no function '{name}'", nearest(name, names[: -len(ORIGINS)])
    )


def _region(region: str, tables: dict[str, Any]) -> tuple[int, int, int, int]:
    """Return the numbers of the region's functions and calls, as the runtime reads them."""
    start, stop, first, last = _split_region(region)
    return _number(start, tables), _number(stop, tables) if stop else -1, first, last


def _split_region(region: str) -> tuple[str, str, int, int]:
    """Return a region's functions and calls; raise ValueError with the allowed forms."""
    match = _REGION.fullmatch(region)
    if not match:
        raise ValueError("f, f:3, f:3-5, f:3- or f..g")
    first = int(match["first"] or 1)
    last = int(match["last"] or 2**62) if match["to"] or not match["first"] else first
    if not 1 <= first <= last:
        raise ValueError("calls are counted from 1, upwards")
    return match["start"], match["stop"] or "", first, last
