"""``python -m dse.profile.compiler cc ...``: the same as ``dse profile cc ...``."""

from __future__ import annotations

import sys

from dse.profile.compiler.driver import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1] == "c++", sys.argv[2:]))
