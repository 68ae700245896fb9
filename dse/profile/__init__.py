"""What a real program does, measured: blocks, memory, functions and the data that moves between them.

``dse profile`` builds a C or C++ program with instrumentation, runs it and writes a profile; the
models of :mod:`objectives` read it through :meth:`Profile.load`. The format is documented in
``docs/profile-format.md``.

The two views follow T. Kenter, M. Platzner, C. Plessl, M. Kauschke, "Performance Estimation for the
Exploration of CPU-Accelerator Architectures" (2010) and M. A. Kim, S. A. Edwards, "Computation vs.
Memory Systems: Pinning Down Accelerator Bottlenecks" (2010).
"""

from dse.profile.schema import Profile

__all__ = ["Profile"]
