"""Sources to LLVM IR: registers promoted, nothing inlined, nothing vectorised."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dse.problems import InputError, Problem
from dse.profile.build.cxx_library import link_cxx
from dse.profile.build.effects import list_modelled_functions
from dse.profile.build.toolchain import Toolchain
from dse.profile.errors import describe_missing_source, source_error

C_SUFFIXES = (".c",)
CXX_SUFFIXES = (".cc", ".cpp", ".cxx", ".C", ".c++")
IR_SUFFIXES = (".ll", ".bc")

FAITHFUL = (
    "-fno-optimize-sibling-calls",  # tail calls would merge the levels of a recursion
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fno-unroll-loops",
    "-fno-discard-value-names",
    "-fno-sanitize=all",
    "-g1",
    "-U_FORTIFY_SOURCE",
    "-Wno-unused-command-line-argument",
)
_UNSUPPORTED = re.compile(r"unsupported linker arg: (\S+)")
_UNDEFINED = re.compile(r"undefined (?:hidden |protected )?symbol: (.+)")
_RUNTIME = Path(__file__).parent / "runtime"
_PROCESSOR = (b"__cpu_model", b"__cpu_features2")


def flags_keeping_blocks(flags: Sequence[str]) -> tuple[str, ...]:
    """Return the flags that keep functions and blocks as the source has them.

    Functions are inlined if `flags` ask for it, with ``-finline-functions``.
    """
    inlines = any(flag in ("-finline-functions", "-finline-hint-functions") for flag in flags)
    at_zero = "-O0" in flags and not any(re.match("-O[1-9sgzf]", flag) for flag in flags)
    kept = ("-Xclang", "-disable-O0-optnone") if at_zero else ()
    return (*(() if inlines else ("-fno-inline",)), *FAITHFUL, *kept)


def flags_keeping_library_calls() -> list[str]:
    """Return the flags by which a call of a library function that is modelled stays one."""
    return [
        f"-fno-builtin-{name}" for name in list_modelled_functions() if not name.startswith("_")
    ]


def flags_keeping_inline_bodies(compiler: Sequence[str]) -> tuple[str, ...]:
    """Return the flags that keep bodies of inline functions of C; see :func:`add_inline_bodies`.

    An object of C has none for other objects, and the program may have none at all, since its own
    compiler inlines them. Older compilers than zig's cannot; C++ has its own rules.
    """
    return ("-mllvm", "-avail-extern-to-local") if compiler[-1] == "cc" else ()


_BODY = re.compile(r"(?m)^define internal (.*?)@([-\w.$]+)\.__uniq\.[0-9a-f]{32}\(")


def add_inline_bodies(text: str) -> str:
    """Let a module's inline functions replace definitions that the program lacks."""
    names = [match[2] for match in _BODY.finditer(text)]
    if not names:
        return text
    listed = "|".join(map(re.escape, names))
    text = re.sub(rf"(?m)^declare [^\n]*@(?:{listed})\(.*\n", "", text)
    text = _BODY.sub(r"define linkonce_odr \1@\2(", text)
    return re.sub(rf"\b({listed})\.__uniq\.[0-9a-f]{{32}}\b", r"\1", text)


def is_cxx(sources: Sequence[Path]) -> bool:
    """Return whether any source is C++: the program is then linked as C++.

    >>> is_cxx([Path("a.c"), Path("b.cpp")])
    True
    """
    return any(source.suffix in CXX_SUFFIXES for source in sources)


def _check_sources(sources: Sequence[Path]) -> None:
    allowed = C_SUFFIXES + CXX_SUFFIXES + IR_SUFFIXES
    problems = []
    for source in sources:
        if source.is_dir():
            problems.append(Problem(str(source), "is a folder", "give the sources in it"))
        elif not source.is_file():
            problems.append(describe_missing_source(source, sources))
        elif source.suffix not in allowed:
            problems.append(
                Problem(
                    str(source),
                    f"'{source.suffix}' is not a suffix of a C or C++ source, or of LLVM IR",
                    f"known: {', '.join(allowed)}",
                )
            )
    if not sources:
        problems.append(Problem("", "no source was given"))
    if problems:
        raise InputError("profile", problems)


def compile_to_ir(
    toolchain: Toolchain,
    sources: Sequence[Path],
    folder: Path,
    optimisation: int = 1,
    flags: Sequence[str] = (),
) -> list[Path]:
    """Compile each source to a text file of LLVM IR in `folder`; files of IR stay as they are.

    Raises
    ------
    InputError
        With every source that is missing, of an unknown kind or refused by the compiler.
    """
    _check_sources(sources)
    level = f"-O{optimisation}"
    kept = [
        level,
        "-UNDEBUG",
        *flags_keeping_blocks((level, *flags)),
        *flags_keeping_library_calls(),
    ]

    def compiled(number: int) -> Path | Problem:
        source = sources[number]
        if source.suffix in IR_SUFFIXES:
            return source
        target = folder / f"{number}.ll"
        compiler = toolchain.cxx if source.suffix in CXX_SUFFIXES else toolchain.c
        # the text of __FILE__ must not shift the program's other constants
        place = f"-fmacro-prefix-map={source.parent}/="
        command = [
            *compiler,
            *kept,
            *flags_keeping_inline_bodies(compiler),
            *toolchain.baseline,
            place,
            *flags,
        ]
        command += ["-S", "-emit-llvm", "-o", str(target), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode or not target.is_file():
            return Problem(str(source), "the compiler refused it:\n" + done.stderr.strip())
        return target

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(compiled, range(len(sources))))
    refused = [result for result in results if isinstance(result, Problem)]
    if refused:
        raise InputError("profile", refused)
    return [result for result in results if isinstance(result, Path)]


def run_linker(line: list[str], directory: str | None = None) -> tuple[int, str]:
    """Run a command that links; return its exit status and its words.

    Options that its linker does not know, such as a map of the program, are left out.
    """
    while True:
        done = subprocess.run(line, capture_output=True, check=False, cwd=directory)  # noqa: S603
        said = (done.stdout + done.stderr).decode("utf-8", "replace")
        unknown = _UNSUPPORTED.search(said) if done.returncode else None
        shorter = remove_linker_argument(line, unknown[1]) if unknown else line
        if shorter == line:
            return done.returncode, said
        line = shorter


def remove_linker_argument(line: list[str], unknown: str) -> list[str]:
    """Return a command line without one of its ``-Wl,`` arguments.

    >>> remove_linker_argument(["cc", "-Wl,-z,now,-Map=a.map"], "-Map")
    ['cc', '-Wl,-z,now']
    """
    result = []
    for each in line:
        if each.startswith("-Wl,"):
            parts = each.split(",")[1:]
            at = next(
                (i for i, p in enumerate(parts) if p.split("=")[0] == unknown.split("=")[0]), -1
            )
            if at >= 0:
                # its value, if it has one, is the next part
                value = (
                    at + 1 < len(parts)
                    and "=" not in parts[at]
                    and not parts[at + 1].startswith("-")
                )
                del parts[at : at + 1 + value]
                if parts:
                    result.append(",".join(["-Wl", *parts]))
                continue
        result.append(each)
    return result


def find_processor_support(compiler: Sequence[str], inputs: Sequence[Path | str]) -> list[str]:
    """Return what a link needs besides its inputs, if one of them asks for processor features.

    ``__builtin_cpu_supports`` and ``target_clones`` do. The library of zig lists no features, and
    answers that the processor has none.
    """
    if compiler[-1] not in ("cc", "c++") or os.uname().machine != "x86_64":
        return []
    contents = (path.read_bytes() for path in map(Path, inputs) if path.is_file())
    asks = any(name in content for content in contents for name in _PROCESSOR)
    return ["-x", "c", str(_RUNTIME / "processor.c"), "-x", "none"] if asks else []


def link_program(
    toolchain: Toolchain,
    objects: Sequence[Path],
    target: Path,
    cxx: bool,
    flags: Sequence[str] = (),
    directory: str | None = None,
) -> None:
    """Link object files to a program; raise InputError with the linker's words if it cannot."""
    command = ["-O1", "-fno-sanitize=all", *toolchain.baseline, *map(str, objects)]
    command += ["-o", str(target), *flags, "-lm"]
    given = [Path(directory or ".") / flag for flag in flags if not flag.startswith("-")]
    command += find_processor_support(toolchain.c, [*objects, *given])

    def link(compiler: Sequence[str], library: Sequence[str]) -> tuple[int, str]:
        return run_linker([*compiler, *command, *library], directory)

    status, said = link_cxx(toolchain.cxx, flags, link) if cxx else link(toolchain.c, [])
    if status and re.search(r"relocation .* out of range: .*section '\.l?bss'", said):
        message = "its static data is larger than the 2 GiB that its code can address"
        raise source_error("profile", message, "allocate the largest arrays in the run")
    if undefined := list(dict.fromkeys(_UNDEFINED.findall(said))) if status else []:
        more = f" and {len(undefined) - 3} more" if len(undefined) > 3 else ""
        message = f"the program does not link: nothing defines {', '.join(undefined[:3])}{more}"
        remedy = "add the source, the object or the library that does: --link-flag=-lNAME"
        if cxx and all("::" in name and not re.search(r"[ (]", name) for name in undefined):
            remedy += (
                "; if it is a static constant of a class, which an optimized build does not need: "
                "declare it constexpr, or define it outside of the class"
            )
        raise source_error("profile", message, remedy)
    if status:
        raise source_error("profile", "the program does not link:\n" + said.strip())
