"""``python -m dse.profile``: the same as ``dse profile``."""

from __future__ import annotations

import sys

from dse.cli import main

if __name__ == "__main__":
    sys.argv.insert(1, "profile")
    main()
