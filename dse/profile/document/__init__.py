"""The profile as a document: the other layers write or show it, models read it.

``schema`` has the fields, ``check`` what must hold of them, ``profile`` reads and writes the file.
"""

from dse.profile.document.profile import Profile
from dse.profile.document.schema import (
    CONSTANTS,
    OUTSIDE,
    PROGRAM_INPUT,
    START,
    UNKNOWN,
    Access,
    Block,
    CacheLevels,
    Call,
    Chain,
    Context,
    Crossing,
    Edge,
    Function,
    Program,
    Read,
    Register,
    Run,
    Settings,
    SourceLine,
    Transfer,
    Unaccounted,
    Unmodelled,
)

__all__ = [
    "CONSTANTS",
    "OUTSIDE",
    "PROGRAM_INPUT",
    "START",
    "UNKNOWN",
    "Access",
    "Block",
    "CacheLevels",
    "Call",
    "Chain",
    "Context",
    "Crossing",
    "Edge",
    "Function",
    "Profile",
    "Program",
    "Read",
    "Register",
    "Run",
    "Settings",
    "SourceLine",
    "Transfer",
    "Unaccounted",
    "Unmodelled",
]
