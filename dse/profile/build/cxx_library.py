"""The library of C++, built once for all users of an environment, as far as a program needs it.

Zig would compile its whole libc++ at the first link, on one core, for more than a minute. This
module compiles the same sources with the same flags, without debug information, on all cores. A
program is linked with the first parts of the library, and the next part is built only if names are
undefined. The environment keeps the parts if it may be written, else the user's cache does.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

# Exceptions, strings and containers; streams, algorithms and threads; all else. The slowest
# sources come first.
_FIRST = "string memory stdexcept hash functional new_helpers"
_SECOND = (
    "locale algorithm ios.instantiations thread ios iostream ostream condition_variable charconv "
    "fstream future exception system_error error_category call_once mutex memory_resource bind "
    "condition_variable_destructor mutex_destructor ryu/d2fixed ryu/d2s ryu/f2s"
)
PARTS = ("first", "second", "third")
_EXCLUDED = ("cxa_noexception", "int128_builtins")  # for compilers without exceptions or integers
_FLAGS = (
    *("-O2", "-mcpu=baseline", "-fno-sanitize=all", "-fPIC", "-w", "-DNDEBUG", "-std=c++23"),
    *("-fvisibility=hidden", "-fvisibility-inlines-hidden", "-ffunction-sections", "-g0"),
    *("-fdata-sections", "-D_LIBCPP_BUILDING_LIBRARY"),
)
_ABI_FLAGS = (
    *("-D_LIBCXXABI_BUILDING_LIBRARY", "-DHAVE___CXA_THREAD_ATEXIT_IMPL", "-fstrict-aliasing"),
)
_STANDARD_FLAGS = (
    *("-DLIBCXX_BUILDING_LIBCXXABI", "-DLIBC_NAMESPACE=__llvm_libc_common_utils"),
    *("-D_LIBCPP_HAS_NO_PRAGMA_SYSTEM_HEADER", "-faligned-allocation"),
)
_OWN = re.compile(r"-(?:nostdlib(?:\+\+)?|nodefaultlibs|stdlib=.*)")
# Of the library of C++: other languages have a std too.
_UNDEFINED = re.compile(
    r"undefined [a-z ]*symbol: [^(\n]*\bstd::(?:__|experimental\b|bad_|\w*exception)"
)
_STEP = 0.2  # seconds between looks at the compiler

Link = Callable[[Sequence[str], Sequence[str]], tuple[int, str]]
"""It takes the compiler and the libraries behind the objects; it returns status and words."""


def link_cxx(compiler: Sequence[str], flags: Sequence[str], link: Link) -> tuple[int, str]:
    """Link C++ with as much of the library as the program needs; return what `link` returned.

    Another compiler than zig has its own library, and `flags` may choose one.
    """
    if compiler[-1] != "c++" or any(_OWN.fullmatch(flag) for flag in flags):
        return link(compiler, [])
    archives: list[str] = []
    for part in PARTS:
        archive = _kept(compiler[0], part)
        if archive is None:
            return link(compiler, [])
        archives.append(str(archive))
        status, said = link([*compiler[:-1], "cc"], [*archives, "-lunwind"])
        if not status or not _UNDEFINED.search(said):
            break
    return status, said


def list_sources(zig: str, part: str) -> list[Path]:
    """Return the sources of a part of the library."""
    standard, abi = (Path(zig).parent / "lib" / name / "src" for name in ("libcxx", "libcxxabi"))
    first, second = ([standard / f"{x}.cpp" for x in names.split()] for names in (_FIRST, _SECOND))
    if part == "second":
        return second
    if part == "first":
        sources = [*sorted(abi.glob("*.cpp"), key=lambda path: -path.stat().st_size), *first]
    else:
        folders = (standard.glob(f"{name}*.cpp") for name in ("filesystem/", "", "ryu/"))
        sources = [x for paths in folders for x in sorted(paths) if x not in (*first, *second)]
    return [source for source in sources if source.stem not in _EXCLUDED]


def _kept(zig: str, part: str) -> Path | None:
    """Return a part, built if it is missing; None if it cannot be built or kept."""
    import importlib.metadata  # as long as all other imports of a compiler

    folder = f"libc++-{importlib.metadata.version('ziglang')}-{os.uname().machine}"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dse"
    places = [Path(sys.prefix, "share", "dse-accelerators", folder), cache / folder]
    name = f"{part}.a"
    for place in places:
        if (place / name).is_file():
            return place / name
    with tempfile.TemporaryDirectory(prefix="dse-cxx-") as made:
        archive = _built(zig, list_sources(zig, part), Path(made))
        if archive is None:
            return None
        for place in places:
            with contextlib.suppress(OSError):
                place.mkdir(parents=True, exist_ok=True)
                with tempfile.NamedTemporaryFile(dir=place, delete=False) as file:
                    file.write(archive.read_bytes())
                Path(file.name).chmod(0o644)
                return Path(file.name).replace(place / name)
    return None


def _built(zig: str, sources: Sequence[Path], folder: Path) -> Path | None:
    """Compile sources on all cores to an archive in `folder`, with the seconds on a terminal."""
    library = Path(zig).parent / "lib"

    def compiled(number: int) -> Path | None:
        source, target = sources[number], folder / f"{number}.o"
        abi = "libcxxabi" in source.parts
        flags = [*_FLAGS, *(_ABI_FLAGS if abi else _STANDARD_FLAGS), f"-I{library}/libcxx/src"]
        flags += [] if abi else [f"-I{library}/libcxx/libc"]
        line = [zig, "c++", *flags, "-c", str(source), "-o", str(target)]
        done = subprocess.run(line, capture_output=True, check=False)  # noqa: S603
        return target if done.returncode == 0 and target.is_file() else None

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        futures = [pool.submit(compiled, number) for number in range(len(sources))]
        begun, shown = time.monotonic(), False
        while wait(futures, _STEP).not_done:
            passed = time.monotonic() - begun
            if sys.stderr.isatty() and passed > 2.0:
                shown = True
                message = f"\r  building the C++ library, once for this environment: {passed:.0f} s"
                sys.stderr.write(message)
                sys.stderr.flush()
        if shown:
            sys.stderr.write("\n")
    objects = [path for path in (future.result() for future in futures) if path]
    archive = folder / "made.a"
    line = [zig, "ar", "rcs", str(archive), *map(str, objects)]
    done = subprocess.run(line, capture_output=True, check=False)  # noqa: S603
    return archive if len(objects) == len(sources) and not done.returncode else None
