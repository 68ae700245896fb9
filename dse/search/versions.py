"""Versions: what must be the same on every machine for the result to be the same."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import platform
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

_LIBRARIES = ("numpy", "scipy")  # other versions may give other bits


def packages(modules: Iterable[str]) -> tuple[str, ...]:
    """Return the packages that workers must have: `dse`, and the packages of some modules."""
    return tuple(sorted({"dse", *(name.partition(".")[0] for name in modules)} - {"__main__"}))


@functools.lru_cache(maxsize=8)
def versions(packages: tuple[str, ...]) -> Mapping[str, str]:
    """Return versions by name: of Python, of libraries, and of the code of packages itself."""
    found = {"Python": ".".join(platform.python_version_tuple()[:2])}
    for name in _LIBRARIES:
        found[name] = importlib.metadata.version(name)
    return found | {name: _version_of_code(name) for name in packages}


def _version_of_code(package: str) -> str:
    """Return a package's version and a digest of its code, which may change without it."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        return "absent"
    roots = [Path(p) for p in spec.submodule_search_locations or ()]
    files = [(f.relative_to(root).as_posix(), f) for root in roots for f in root.rglob("*.py")]
    if not roots and spec.origin and spec.has_location:
        files = [(package, Path(spec.origin))]
    state = hashlib.sha256()
    for name, file in sorted(files):
        state.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    with suppress(importlib.metadata.PackageNotFoundError):
        named = importlib.metadata.version("dse-accelerators" if package == "dse" else package)
        return f"{named} (code {state.hexdigest()[:8]})"
    return f"code {state.hexdigest()[:8]}"


def differences(ours: Mapping[str, str], theirs: Mapping[str, str] | BaseException) -> str:
    """Return in words what differs; empty if nothing does."""
    if isinstance(theirs, BaseException):
        return f"cannot work: {theirs}"
    return ", ".join(
        f"{name} is {theirs.get(name, 'absent')} there and {version} here"
        for name, version in ours.items()
        if theirs.get(name) != version
    )
