"""``python -m dse.profile``: the same as ``dse profile``."""

from __future__ import annotations

import sys

from dse.problems import DseError
from dse.profile.cli import profile

if __name__ == "__main__":
    try:
        profile(prog_name="python -m dse.profile")
    except DseError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
