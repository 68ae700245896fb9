"""Which class an IR instruction belongs to."""

from __future__ import annotations

import re

CLASSES = (
    "arithmetic",
    "multiply",
    "divide",
    "float",
    "float_divide",
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
COMPUTATION = CLASSES[:8]
"""What counts as computation: arithmetic and logical instructions, no data or control transfer."""

_BY_OPCODE = {
    **dict.fromkeys(["add", "sub"], "arithmetic"),
    "mul": "multiply",
    **dict.fromkeys(["udiv", "sdiv", "urem", "srem"], "divide"),
    **dict.fromkeys(["fadd", "fsub", "fmul", "fneg"], "float"),
    **dict.fromkeys(["fdiv", "frem"], "float_divide"),
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
_LOGICAL = r"ctpop|ctlz|cttz|bswap|bitreverse|fshl|fshr|vector\.reduce\.(?:and|or|xor)"
_ARITHMETIC = (
    r"abs|[su](?:max|min)|[su](?:add|sub|shl)\.(?:with\.overflow|sat)|[su]cmp|"
    r"vector\.reduce\.(?:add|[su](?:max|min))"
)
_MULTIPLY = r"[su]mul\.(?:with\.overflow|fix(?:\.sat)?)|vector\.reduce\.mul"
_FLOAT_DIVIDE = r"sqrt|pow|powi|a?(?:sin|cos|tan)h?|atan2|sincos(?:pi)?|exp2?|exp10|log2?|log10"
_FLOAT = (
    r"fma|fmuladd|fabs|minnum|maxnum|minimum|maximum|copysign|floor|ceil|trunc|rint|nearbyint|"
    r"round|roundeven|lround|llround|lrint|llrint|ldexp|is\.fpclass|vector\.reduce\.f\w+"
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
    ('float', 'logical', '')
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
            (_MULTIPLY, "multiply"),
            (_FLOAT, "float"),
            (r"fpto[su]i\.sat", "cast"),
            (_FLOAT_DIVIDE, "float_divide"),
            (_MACHINE_MEMORY, "other"),
            ("x86|aarch64", "arithmetic"),  # instructions of one processor: AES, vectors
        ):
            if re.match(rf"(?:{pattern})(?:\.|$)", name):
                return kind
        return "other"
    return _BY_OPCODE.get(opcode, "other")
