"""Which class an IR instruction belongs to."""

from __future__ import annotations

import re

CLASSES = (
    "arithmetic",
    "logical",
    "compare",
    "select",
    "cast",
    "address",
    "load",
    "store",
    "copy",
    "phi",
    "branch",
    "call",
    "alloca",
    "other",
)
COMPUTATION = ("arithmetic", "logical", "compare", "select")
"""What counts as computation: arithmetic and logical instructions, no data or control transfer."""

_BY_OPCODE = {
    **dict.fromkeys(
        [
            "add",
            "sub",
            "mul",
            "udiv",
            "sdiv",
            "urem",
            "srem",
            "fadd",
            "fsub",
            "fmul",
            "fdiv",
            "frem",
            "fneg",
        ],
        "arithmetic",
    ),
    **dict.fromkeys(["shl", "lshr", "ashr", "and", "or", "xor"], "logical"),
    **dict.fromkeys(["icmp", "fcmp"], "compare"),
    **dict.fromkeys(
        [
            "trunc",
            "zext",
            "sext",
            "fptrunc",
            "fpext",
            "fptoui",
            "fptosi",
            "uitofp",
            "sitofp",
            "ptrtoint",
            "ptrtoaddr",
            "inttoptr",
            "bitcast",
            "addrspacecast",
        ],
        "cast",
    ),
    **dict.fromkeys(
        [
            "br",
            "switch",
            "indirectbr",
            "ret",
            "unreachable",
            "resume",
            "catchswitch",
            "cleanupret",
            "catchret",
        ],
        "branch",
    ),
    **dict.fromkeys(["call", "invoke", "callbr"], "call"),
    "getelementptr": "address",
    **{name: name for name in ("load", "store", "select", "phi", "alloca")},
}
_LOGICAL = "ctpop|ctlz|cttz|bswap|bitreverse|fshl|fshr"
_ARITHMETIC = (
    r"abs|[su](?:max|min)|[su](?:add|sub|mul|shl)\.(?:with\.overflow|sat)|fma|fmuladd|sqrt|pow|powi|"
    r"sin|cos|tan|exp2?|exp10|log2?|log10|fabs|minnum|maxnum|minimum|maximum|copysign|floor|ceil|"
    r"trunc|rint|nearbyint|round|roundeven|lround|llround|lrint|llrint|ldexp|is\.fpclass|"
    r"[su]cmp|vector\.reduce"
)
_MACHINE_MEMORY = (
    r"(?:x86|aarch64)\..*(?:load|store|ld\d|st\d|gather|scatter|fence|pause|prefetch|rdtsc|clflush|"
    r"movnt|mxcsr|fsave|fxrstor|xsave|rdrand|cpuid|xgetbv|monitor|wait|hint)"
)
_NOTHING = (
    "dbg|lifetime|assume|donothing|invariant|experimental.noalias|annotation|var.annotation|"
    "ptr.annotation|sideeffect|pseudoprobe|expect|launder|strip|threadlocal.address|objectsize|"
    "is.constant|fake.use"
)


def classify(opcode: str, callee: str = "") -> str:
    """Return an instruction's class, or ``""`` for a marker that is not an instruction.

    Parameters
    ----------
    opcode : str
        LLVM's name of the instruction.
    callee : str
        For a call, the name of the function called directly.

    Examples
    --------
    >>> classify("fmul"), classify("call", "llvm.ctpop.i32"), classify("call", "llvm.assume")
    ('arithmetic', 'logical', '')
    >>> classify("call", "llvm.x86.aesni.aesenc"), classify("call", "llvm.x86.sse2.pause")
    ('arithmetic', 'other')
    """
    if callee.startswith("llvm."):
        name = callee[5:]
        for pattern, kind in (
            (_NOTHING, ""),
            ("memcpy|memmove|memset", "copy"),
            (_LOGICAL, "logical"),
            (_ARITHMETIC, "arithmetic"),
            (_MACHINE_MEMORY, "other"),
            ("x86|aarch64", "arithmetic"),  # what the processor alone has: AES, vectors
        ):
            if re.match(rf"(?:{pattern})(?:\.|$)", name):
                return kind
        return "other"
    return _BY_OPCODE.get(opcode, "other")
