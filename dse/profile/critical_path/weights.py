"""The cycles of an operation in a chain of operations, in an accelerator at the host's clock.

Assumptions of hardware that is built for the chain: four levels of logic or two additions follow
each other in a cycle, a local memory answers after two cycles, floating-point units are pipelined
over four. A load or store of the address that it had the last time takes no cycle: this is a
variable, and hardware keeps it in a register. Shifts by constants, conversions of whole numbers and
copies are wires. A whole number is divided by a constant without a divider: a compiler does the
same.
"""

from __future__ import annotations

import re

from dse.profile.build.irtext import Statement

CYCLE = 4
"""Units of a cycle: times are whole numbers of them."""
LOAD, STORE = 2 * CYCLE, CYCLE
"""The weights of accesses to another address than the last time; the runtime adds them."""

_FLOAT = dict.fromkeys(("fadd", "fsub", "fmul", "fptosi", "fptoui", "sitofp", "uitofp"), 4 * CYCLE)
_WEIGHTS = {
    **dict.fromkeys(("and", "or", "xor", "select", "shl", "lshr", "ashr"), 1),
    **dict.fromkeys(("add", "sub", "icmp", "getelementptr"), 2),
    **dict.fromkeys(("extractelement", "insertelement", "shufflevector"), 1),
    **_FLOAT,
    **dict.fromkeys(("fcmp", "fneg"), CYCLE),
    **dict.fromkeys(("sdiv", "udiv", "srem", "urem", "fdiv", "frem"), 16 * CYCLE),
    "mul": 2 * CYCLE,
}
_CONSTANT = re.compile(r", (-?\d+)$")
_QUOTIENTS, _REMAINDERS = ("sdiv", "udiv"), ("srem", "urem")
_INTRINSICS = (
    (re.compile(r"llvm\.(fshl|fshr|bswap|bitreverse|expect|assume|lifetime|dbg|experimental)"), 0),
    (re.compile(r"llvm\.([us](min|max|add|sub)|abs|ctpop|ctlz|cttz|umul|smul)"), CYCLE),
    (re.compile(r"llvm\.(fabs|copysign|minnum|maxnum|floor|ceil|trunc|rint|round)"), CYCLE),
    (re.compile(r"llvm\.(fma|fmuladd)"), 5 * CYCLE),
)
_CONVERSION = re.compile(r"(llvm\.)?ll?(rint|round)[fl]?(\.|$)")
_CALL = 16 * CYCLE
"""Of a library function, such as a square root."""


def weigh(statement: Statement) -> int:
    """Return the units that an instruction adds to its operands' times.

    >>> weigh(Statement(["  %c = add i32 %a, %b"], "%c", "add"))
    2
    >>> weigh(Statement(["  %c = shl i32 %a, 3"], "%c", "shl"))
    0
    >>> weigh(Statement(["  %c = sdiv i32 %a, 8"], "%c", "sdiv"))  # a sum, for negative numbers
    2
    >>> weigh(Statement(["  %c = udiv i32 %a, 10"], "%c", "udiv"))  # a product and a sum
    10
    >>> weigh(Statement(["  %c = call i64 @lrint(double %a)"], "%c", "call"))  # to a whole number
    16
    """
    opcode = statement.opcode
    constant = _CONSTANT.search(statement.text)
    if opcode in ("shl", "lshr", "ashr") and constant:
        return 0
    if opcode in _QUOTIENTS + _REMAINDERS and constant:
        return _weigh_division(opcode, abs(int(constant[1])))
    if opcode == "getelementptr" and "%" not in statement.body.split(",", 2)[-1]:
        return 0  # a field of a structure: the address is known where the structure's is
    if opcode == "call" and _CONVERSION.match(statement.callee):
        return _FLOAT["fptosi"]
    if opcode == "call" and statement.callee.startswith("llvm."):
        return next((w for match, w in _INTRINSICS if match.match(statement.callee)), _CALL)
    if opcode in ("call", "invoke"):
        return _CALL
    return _WEIGHTS.get(opcode, 0)


def _weigh_division(opcode: str, divisor: int) -> int:
    """Return the units of a division of a whole number by a constant.

    A quotient is a product with the reciprocal and a sum, or a sum and a shift. A remainder is the
    number minus the product of the quotient and the divisor, or minus the bits above the divisor's.
    """
    power = divisor & (divisor - 1) == 0
    quotient = _WEIGHTS["add"] + (0 if power else _WEIGHTS["mul"])
    if opcode in _QUOTIENTS:
        return quotient
    return quotient + (_WEIGHTS["and"] if power else _WEIGHTS["mul"]) + _WEIGHTS["sub"]
