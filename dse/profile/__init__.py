"""Measure a real program: blocks, memory, functions and the data between them.

``dse profile`` builds a C or C++ program with instrumentation, runs it and writes a profile; models
read it through :meth:`dse.profile.document.Profile.load`. The format is documented in
``docs/reference/profile-format.md``.

`cli` has the command line, `command` its steps, `errors` its errors. `compiler` is the compiler of
``dse profile cc``, `build` instruments a program, `run` runs it, `document` is the profile, and
`show` prints it.

The two views follow T. Kenter, M. Platzner, C. Plessl, M. Kauschke, "Performance Estimation for the
Exploration of CPU-Accelerator Architectures" (2010) and M. A. Kim, S. A. Edwards, "Computation vs.
Memory Systems: Pinning Down Accelerator Bottlenecks" (2010).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dse.profile.command import Options, profile_program
    from dse.profile.document import Profile

__all__ = ["Options", "Profile", "profile_program"]


def __getattr__(name: str) -> Any:
    """Import a name at its first use: ``dse --help`` needs none of them."""
    if name == "Profile":
        from dse.profile.document import Profile

        return Profile
    if name in ("Options", "profile_program"):
        from dse.profile import command

        return getattr(command, name)
    raise AttributeError(f"module 'dse.profile' has no attribute '{name}'")
