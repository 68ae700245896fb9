"""``python -m dse`` is the command ``dse``."""

from dse.cli import main

main()
