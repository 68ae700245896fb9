"""The compiler: clang out of the ``ziglang`` package, or the system's own clang.

The IR of a front end is read by llvmlite; its LLVM must be at least as new as the compiler's. The
pair ``ziglang 0.17`` (clang 22) and ``llvmlite 0.50`` (LLVM 22) comes with the extra ``profile``.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dse.problems import InputError
from dse.profile.errors import source_error

Choice = Literal["auto", "zig", "clang"]
NEWEST_CLANG = 22  # whose IR llvmlite 0.50 reads
INSTALL = "pip install 'ziglang==0.17.*' 'llvmlite==0.50.*', or a system clang and llvmlite"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Commands that compile and link, and their version.

    Parameters
    ----------
    c, cxx : tuple of str
        The C and the C++ compiler, as argument lists.
    version : str
        The compiler's version text, such as ``"clang 22.1.8"``.
    """

    c: tuple[str, ...]
    cxx: tuple[str, ...]
    version: str

    @property
    def baseline(self) -> tuple[str, ...]:
        """The flags for code that runs on every machine of this kind, as clang's does unasked.

        Programs are linked with them too: zig builds its libraries once for each set of flags.
        """
        return _baseline(self.c)


def find_toolchain(choice: Choice = "auto") -> Toolchain:
    """Return the compiler to use; raise InputError, with what to install, if there is none."""
    if importlib.util.find_spec("llvmlite") is None:
        raise _missing("llvmlite is not installed: it reads and compiles the program's LLVM IR")
    if sys.platform != "linux":
        raise source_error("profile", f"programs are profiled on Linux; this is {sys.platform}")
    found = _zig() if choice in ("auto", "zig") else None
    if found is None and choice in ("auto", "clang"):
        found = _clang()
    if found is None:
        wanted = {"auto": "no compiler", "zig": "no ziglang package", "clang": "no clang"}[choice]
        raise _missing(f"{wanted} was found")
    _fits(found)
    return found


def find_compilers() -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the compilers for C and C++ and their flags for every machine, looked at no further.

    Raises
    ------
    InputError
        If there is none.
    """
    found = _zig_commands() or _clang_commands()
    if found is None:
        raise _missing("no compiler was found")
    return (*found, _baseline(found[0]))


def _baseline(command: tuple[str, ...]) -> tuple[str, ...]:
    return ("-mcpu=baseline",) if command[-1] == "cc" else ()


def _missing(message: str) -> InputError:
    return source_error("profile", message, f"install with: {INSTALL}")


def _zig() -> Toolchain | None:
    found = _zig_commands()
    return Toolchain(*found, _version(found[0])) if found else None


def _zig_commands() -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    found = importlib.util.find_spec("ziglang")
    if found is None or not found.submodule_search_locations:
        return None
    zig = str(Path(found.submodule_search_locations[0]) / "zig")
    return (zig, "cc"), (zig, "c++")


def _clang() -> Toolchain | None:
    found = _clang_commands()
    return Toolchain(*found, _version(found[0])) if found else None


def _clang_commands() -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    for suffix in ("", *(f"-{version}" for version in range(NEWEST_CLANG, 13, -1))):
        c, cxx = shutil.which(f"clang{suffix}"), shutil.which(f"clang++{suffix}")
        if c and cxx:
            return (c,), (cxx,)
    return None


@functools.cache
def _version(command: tuple[str, ...]) -> str:
    said = subprocess.run(  # noqa: S603
        [*command, "--version"], capture_output=True, text=True, check=False
    ).stdout
    match = re.search(r"clang version (\d+\.\d+\.\d+)", said)
    return f"clang {match[1]}" if match else "clang (version unknown)"


def _fits(toolchain: Toolchain) -> None:
    from llvmlite import binding

    reads = binding.llvm_version_info
    match = re.search(r"clang (\d+)", toolchain.version)
    if match and int(match[1]) > reads[0]:
        raise source_error(
            "profile",
            f"{toolchain.version} writes IR that llvmlite (LLVM {reads[0]}) cannot read",
            "install the pair: pip install 'ziglang==0.17.*' 'llvmlite==0.50.*'",
        )
