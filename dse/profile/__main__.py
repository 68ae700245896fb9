"""``python -m dse.profile``: the same as ``dse profile``."""

from dse.profile.cli import profile

if __name__ == "__main__":
    profile(prog_name="python -m dse.profile")
