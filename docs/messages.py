"""Write docs/messages.txt: all messages of the code, so that a review sees each new one.

Run with ``python docs/messages.py``. Each call of `Problem` and of an exception is one entry. A
value that the code fills in is shown as its expression in braces. A test compares the file with the
code. Read the file from top to bottom when it changes: a message says what is wrong with the given
value, why, and the fix.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = Path(__file__).with_name("messages.txt")
_FOLDERS = ("dse", "objectives")
_MESSAGES = re.compile(r"Problem|[A-Z]\w*(Error|Exception)|UsageError|BadParameter")


def page() -> str:
    """Return the page: per module, the messages in the order of the code."""
    lines = ["Messages of dse, by module. Made by docs/messages.py.\n"]
    for path in sorted(path for folder in _FOLDERS for path in (ROOT / folder).rglob("*.py")):
        messages = list(find_messages(ast.parse(path.read_text(encoding="utf-8"))))
        if messages:
            lines += [f"\n{path.relative_to(ROOT).as_posix()}", *messages]
    return "\n".join(lines) + "\n"


def find_messages(tree: ast.AST) -> Iterator[str]:
    """Yield the text of each message of a module."""
    for scope in ast.walk(tree):
        if isinstance(scope, ast.FunctionDef | ast.Module):
            for call in _find_calls(scope):
                known = _find_assignments(scope, call.lineno)
                parts = [_show(argument, known) for argument in call.args]
                parts += [_show(k.value, known) for k in call.keywords if k.arg]
                texts = [part for part in parts if "Problem(" not in part]
                if any(re.search(r"[a-z]{2} [a-z]", text) for text in texts):
                    yield "\n    ".join([f"  {_name(call)}", *filter(None, parts)])


def _find_calls(scope: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls in a function or module, without those in functions inside it."""
    waiting = [*ast.iter_child_nodes(scope)][::-1]  # the next is the last
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call) and _is_message(node):
            yield node
        elif not isinstance(node, ast.FunctionDef):
            waiting += [*ast.iter_child_nodes(node)][::-1]


def _is_message(call: ast.Call) -> bool:
    return bool(_MESSAGES.fullmatch(_name(call))) or ast.unparse(call.func) == "findings.add"


def _name(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def _find_assignments(scope: ast.AST, before: int) -> dict[str, list[ast.expr]]:
    """Return the expressions assigned to each name before a line: messages are often named."""
    known: dict[str, list[ast.expr]] = {}
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and node.lineno <= before:
            target, value = node.targets[0], node.value
            pairs = (
                zip(target.elts, value.elts, strict=False)
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                else [(target, value)]
            )
            for name, expression in pairs:
                if isinstance(name, ast.Name):
                    known.setdefault(name.id, []).append(expression)
    return known


def _show(node: ast.expr, known: dict[str, list[ast.expr]]) -> str:
    """Return an expression as a message shows it, with its values in braces."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_show(part, {}) for part in parts)
        case ast.FormattedValue(value=value):
            return "{" + ast.unparse(value) + "}"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _show(left, known) + _show(right, known)
        case ast.IfExp(body=body, orelse=other):
            return f"{_show(body, known)} | {_show(other, known)}"
        case ast.Name(id=name) if name in known:
            return " | ".join(dict.fromkeys(_show(value, {}) for value in known[name]))
    return "{" + ast.unparse(node) + "}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
