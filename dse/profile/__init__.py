"""Measure a real program: blocks, memory, functions and the data between them.

``dse profile`` builds a C or C++ program with instrumentation, runs it and writes a profile; models
read it through :meth:`dse.profile.document.Profile.load`. The format is documented in
``docs/reference/profile-format.md``.

Three modules: `cli` is the command line with its texts. `command` joins the packages to steps: it
has the settings, builds the instrumented program, measures it, and decides whether to run it again
for its libraries. `errors` has the errors of a profile.

The packages do the work of one step each. `compiler` is the compiler of ``dse profile cc``, `build`
inserts hooks into a program, `run` runs it. `critical_path` and `library` run it again, for the
critical paths of functions and for its libraries. `document` is the profile, and `show` prints it.

The two views follow T. Kenter, M. Platzner, C. Plessl, M. Kauschke, "Performance Estimation for the
Exploration of CPU-Accelerator Architectures" (2010) and M. A. Kim, S. A. Edwards, "Computation vs.
Memory Systems: Pinning Down Accelerator Bottlenecks" (2010).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dse.profile.command import ProfileOptions, profile_program
    from dse.profile.document import Profile

__all__ = ["Profile", "ProfileOptions", "profile_program"]


def __getattr__(name: str) -> Any:
    """Import a name at its first use: ``dse --help`` needs none of them."""
    if name == "Profile":
        from dse.profile.document import Profile

        return Profile
    if name in ("ProfileOptions", "profile_program"):
        from dse.profile import command

        return getattr(command, name)
    raise AttributeError(f"module 'dse.profile' has no attribute '{name}'")
