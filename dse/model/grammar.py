"""The grammar of comparisons, such as ``area < 200 kLUT and lanes in (1, 2)``: text becomes a tree.

Relations of constraints, targets and filters are all written in it. The script of the report reads
the same grammar (``dse/report/filter.js``). Both must pass ``tests/model/filter_cases.json``.

    condition  = part {"or" part};  part = negated {"and" negated}
    negated    = "not" negated | "(" condition ")" | comparison
    comparison = sum {("<" | "<=" | ">" | ">=" | "==" | "!=") sum}
               | sum ["not"] "between" sum "and" sum
               | sum ["not"] "in" "(" sum {"," sum} ")"
    sum        = product {("+" | "-") product}
    product    = signed {("*" | "/" | "//" | "%") signed}
    signed     = {"+" | "-"} atom ["**" signed]
    atom       = name | number [unit] | text in quotes | "(" sum ")"
               | function "(" sum {"," sum} ")"

A name that is not a word needs backquotes: ```speedup at 1 KiB` > 2``. A unit has no spaces:
``3 B/cycle`` is a number, ``3 B / cycles`` a quotient. `dse` never runs the text as code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from dse.problems import Problem, nearest

FUNCTIONS: Mapping[str, int] = {
    **dict.fromkeys(("abs", "ceil", "exp", "floor", "log", "log2", "log10", "sqrt"), 1),
    **dict.fromkeys(("max", "min"), 2),
}
"""The functions, with the number of their arguments."""
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
"""The comparisons, and the same ones with their sides exchanged."""
_LONGEST = 2_000  # characters
_DEEPEST = 50  # levels of parentheses and "not"
_MOST_OPERATIONS = 200  # a tree is evaluated by recursion
_SHOWN = 3  # problems in the text of an error
_KEYS = ("and", "or", "not", "in", "between")
_NO_KEY = rf"(?!(?:{'|'.join(_KEYS)})\b)"
# "5 %" is a number with a unit, "5 % lanes" a remainder
_UNIT = rf"(?:%(?!\s*{_NO_KEY}[\w(`])|[^\W\d_]\w*)(?:(?:\*\*|\^)-?\d)?"
_WORD = re.compile(
    r"(?P<number>(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?)"
    rf"(?:\s*(?P<unit>{_NO_KEY}{_UNIT}(?:[*/]{_UNIT})*))?"
    r"|(?P<name>[^\W\d]\w*)|`(?P<quoted>[^`]+)`"
    r"""|"(?P<double>[^"]*)"|'(?P<single>[^']*)'"""
    r"|(?P<sign>\*\*|//|<=|>=|==|!=|[<>(),+\-*/%])|(?P<other>\S)"
)
_UNQUOTED = re.compile(r"\w+(?:-\w+)*\+?")  # an option without its quotes, such as cxl-x8 or SL2+
_INSTEAD = {"=": "==", "&": "and", "|": "or", "!": "not"}


@dataclass(frozen=True, slots=True)
class Name:
    """A quantity or a column; `at` is the position of its first character, as in every part."""

    at: int
    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written, with its unit; an empty unit means the unit of the other side."""

    at: int
    written: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A text in quotes."""

    at: int
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """An operation on one or two parts: a function, an operator, or ``-`` of one part."""

    at: int
    function: str
    parts: tuple[Expression, ...]


Expression: TypeAlias = Name | Number | Text | Call


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides and the sign between them."""

    left: Expression
    sign: str
    right: Expression


@dataclass(frozen=True, slots=True)
class JoinedConditions:
    """Conditions of which ``all``, ``any`` or ``none`` hold."""

    how: str
    parts: tuple[Condition, ...]


Condition: TypeAlias = Comparison | JoinedConditions


class LocatedProblem(NamedTuple):
    """A problem and the character at which it is."""

    at: int
    message: str
    remedy: str = ""

    @property
    def problem(self) -> Problem:
        """The problem, with its place."""
        return Problem(f"character {self.at + 1}", self.message, self.remedy)


class GrammarError(ValueError):
    """A text is not a condition, or not the expected kind of condition.

    Parameters
    ----------
    problems : tuple of Problem
        All of them, in the order of the text; each names the character.
    """

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        texts = [str(problem).replace("\n    ", ": ") for problem in problems[:_SHOWN]]
        more = [f"{len(problems) - _SHOWN} more"] if len(problems) > _SHOWN else []
        super().__init__("; ".join([*texts, *more]))


def located_error(problems: list[LocatedProblem]) -> GrammarError:
    """Return the error of some problems, in the order of the text."""
    ordered = sorted(problems, key=lambda problem: problem.at)
    return GrammarError(tuple(dict.fromkeys(located.problem for located in ordered)))


def list_names(node: Condition | Expression) -> Iterator[Name]:
    """Yield the names in a tree."""
    match node:
        case Name():
            yield node
        case Call(parts=parts) | JoinedConditions(parts=parts):
            for part in parts:
                yield from list_names(part)
        case Comparison(left=left, right=right):
            yield from list_names(left)
            yield from list_names(right)


def list_comparisons(node: Condition) -> tuple[Comparison, ...]:
    """Return the comparisons that must all hold.

    GrammarError if the tree has ``or`` or ``not``, or a comparison gives no bound.
    """
    if isinstance(node, Comparison):
        wrong = next((s for s in (node.left, node.right) if isinstance(s, Text)), None)
        if wrong is not None or node.sign == "!=":
            at = (wrong or node.right).at
            message = "compares texts" if wrong is not None else "compares by !="
            raise located_error(
                [LocatedProblem(at, message, "compare numbers by <, <=, >, >= or ==")]
            )
        return (node,)
    if node.how != "all":
        message = "only comparisons that are joined by 'and' are allowed here"
        raise located_error([LocatedProblem(0, message)])
    return tuple(found for part in node.parts for found in list_comparisons(part))


_LEVELS = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2, "negative": 3, "**": 4}


def write_tree(node: Expression | Comparison, level: int = 0) -> str:
    """Return the text of a tree, evenly spaced.

    >>> write_tree(read_condition("(a+1)*2 kLUT<=-b ** 2"))
    '(a + 1) * 2 kLUT <= -b ** 2'
    """
    match node:
        case Comparison(left=left, sign=sign, right=right):
            return f"{write_tree(left)} {sign} {write_tree(right)}"
        case Name(name=name):
            return name if name.isidentifier() else f"`{name}`"
        case Number(written=number, unit=unit):
            return f"{number} {unit}".strip()
        case Text(text=text):
            return f'"{text}"'
        case Call(function=function, parts=parts):
            own = _LEVELS.get(function)
            if own is None:
                return f"{function}({', '.join(write_tree(part) for part in parts)})"
            if len(parts) == 1:
                text = f"-{write_tree(parts[0], own)}"
            else:
                inner = own if function == "**" else own + 1
                text = f"{write_tree(parts[0], own)} {function} {write_tree(parts[1], inner)}"
            return f"({text})" if own < level else text
    raise AssertionError(node)


class _Word(NamedTuple):
    """One word of kind ``term``, ``key``, ``sign``, ``other`` or ``end``."""

    kind: str
    at: int
    text: str
    term: Name | Number | Text | None = None


class _UnexpectedError(Exception):
    def __init__(self, at: int, message: str, remedy: str = "") -> None:
        self.located = LocatedProblem(at, message, remedy)
        super().__init__(message)


def _words(text: str) -> list[_Word]:
    return [*map(_word, _WORD.finditer(text)), _Word("end", len(text.rstrip()), "")]


def _word(match: re.Match[str]) -> _Word:
    at, text, kind = match.start(), match.group(), match.lastgroup or ""
    if kind in ("number", "unit"):
        number = Number(at, match["number"].replace("_", ""), match["unit"] or "")
        return _Word("term", at, text, number)
    if kind == "name" and text in _KEYS:
        return _Word("key", at, text)
    if kind in ("name", "quoted"):
        return _Word("term", at, text, Name(at, match[kind]))
    if kind in ("double", "single"):
        return _Word("term", at, text, Text(at, match[kind]))
    return _Word(kind, at, text)


def is_number(text: str) -> bool:
    """Return whether a text is one number, perhaps with a unit."""
    words = _words(text)
    return len(words) == 2 and isinstance(words[0].term, Number)


def read_unquoted_text(text: str, at: int) -> str:
    """Return the option without quotes that begins at a character of a text."""
    match = _UNQUOTED.match(text, at)
    return match[0] if match else ""


def read_condition(text: str) -> Condition:
    """Read a condition.

    GrammarError with each problem of the text.
    """
    tree, problems = parse_tree(text)
    if problems:
        raise located_error(problems)
    return tree


def parse_tree(text: str) -> tuple[Condition, list[LocatedProblem]]:
    """Return the tree of a text and its problems; leave wrong comparisons out of the tree."""
    parser = _Parser(text)
    return parser.whole(), parser.problems


class _Parser:
    """A parser by recursive descent; after an error it continues with the next comparison."""

    def __init__(self, text: str) -> None:
        self.words = _words(text[:_LONGEST])
        self.position, self.depth, self.operations = 0, 0, 0
        self.problems: list[LocatedProblem] = []
        if len(text) > _LONGEST:
            self.problems.append(
                LocatedProblem(_LONGEST, f"is longer than {_LONGEST:,} characters")
            )

    @property
    def word(self) -> _Word:
        return self.words[self.position]

    def takes(self, *texts: str) -> _Word | None:
        """Return the next word and advance, if it is one of these signs or keys."""
        word = self.word
        if word.kind not in ("sign", "key") or word.text not in texts:
            return None
        self.position += 1
        return word

    def needs(self, text: str) -> None:
        if not self.takes(text):
            raise self.unexpected(f"'{text}'")

    def unexpected(self, wanted: str) -> _UnexpectedError:
        word = self.word
        if word.kind == "end":
            return _UnexpectedError(word.at, f"the text ends, and {wanted} was expected")
        if word.text in ("'", '"', "`"):
            return _UnexpectedError(word.at, f"{word.text} is not closed")
        instead = _INSTEAD.get(word.text) if word.kind == "other" else None
        remedy = f"write {instead}" if instead else ""
        return _UnexpectedError(word.at, f"expected {wanted} instead of '{word.text}'", remedy)

    def whole(self) -> Condition:
        tree = self.joined("any", "or")
        while self.word.kind != "end":
            self.problems.append(self.unexpected("'and', 'or' or the end").located)
            self.position += 1
            self.skip()
            if self.takes("and", "or"):
                self.joined("any", "or")
        return tree

    def joined(self, how: str, key: str) -> Condition:
        parts = [self.joined("all", "and") if how == "any" else self.negated()]
        while self.takes(key):
            parts.append(self.joined("all", "and") if how == "any" else self.negated())
        return parts[0] if len(parts) == 1 else JoinedConditions(how, tuple(parts))

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            message = f"is nested more than {_DEEPEST} levels deep"
            raise _UnexpectedError(self.word.at, message)

    def negated(self) -> Condition:
        depth = self.depth
        try:
            self.deeper()
            if self.takes("not"):
                return JoinedConditions("none", (self.negated(),))
            if not self.begins_condition():
                return self.comparison()
            self.needs("(")
            tree = self.joined("any", "or")
            self.needs(")")
            return tree
        except _UnexpectedError as error:
            self.problems.append(error.located)
            self.skip()
            return JoinedConditions("all", ())
        finally:
            self.depth = depth

    def begins_condition(self) -> bool:
        """Return whether a parenthesis begins here that contains a comparison, not a sum."""
        depth = 0
        if self.word.kind != "sign" or self.word.text != "(":
            return False
        for word in self.words[self.position :]:
            if word.kind == "key" or (word.kind == "sign" and word.text in TURNED):
                return True
            depth += (word.text == "(") - (word.text == ")") if word.kind == "sign" else 0
            if depth == 0:
                return False
        return True

    def skip(self) -> None:
        """Advance to the next possible beginning of a comparison."""
        depth = 0
        while (word := self.word).kind != "end":
            if depth == 0 and word.text in ("and", "or", ")") and word.kind in ("sign", "key"):
                return
            depth += (word.text == "(") - (word.text == ")") if word.kind == "sign" else 0
            self.position += 1

    def comparison(self) -> Condition:
        left = self.sum()
        negative = self.takes("not")
        inside: Condition | None = None
        if self.takes("in"):
            inside = JoinedConditions(
                "any", tuple(Comparison(left, "==", term) for term in self.listed())
            )
        elif self.takes("between"):
            low = self.sum()
            self.needs("and")
            high = self.sum()
            if isinstance(low, Number) and isinstance(high, Number) and not low.unit:
                low = replace(low, unit=high.unit)  # between 10 and 20 kLUT
            inside = JoinedConditions(
                "all", (Comparison(left, ">=", low), Comparison(left, "<=", high))
            )
        if inside is not None:
            if not negative:
                return inside
            present = Comparison(left, "==", left)  # a missing value is neither in nor outside
            return JoinedConditions("all", (present, JoinedConditions("none", (inside,))))
        if negative:
            raise self.unexpected("'in' or 'between'")
        terms, signs = [left], []
        while sign := self.takes(*TURNED):
            signs.append(sign.text)
            terms.append(self.sum())
        if not signs:
            raise self.unexpected("<, <=, >, >=, ==, !=, 'in' or 'between'")
        parts = [Comparison(*pair) for pair in zip(terms[:-1], signs, terms[1:], strict=True)]
        return parts[0] if len(parts) == 1 else JoinedConditions("all", tuple(parts))

    def listed(self) -> list[Expression]:
        self.needs("(")
        terms = [self.sum()]
        while self.takes(","):
            terms.append(self.sum())
        if not self.takes(")"):
            raise self.unexpected("',' or ')'")
        return terms

    def operation(self, at: int, function: str, *parts: Expression) -> Expression:
        self.operations += 1
        if self.operations > _MOST_OPERATIONS:
            raise _UnexpectedError(at, f"has more than {_MOST_OPERATIONS} operations")
        return Call(at, function, parts)

    def sum(self) -> Expression:
        left = self.product()
        while sign := self.takes("+", "-"):
            left = self.operation(left.at, sign.text, left, self.product())
        return left

    def product(self) -> Expression:
        left = self.signed()
        while sign := self.takes("*", "/", "//", "%"):
            left = self.operation(left.at, sign.text, left, self.signed())
        return left

    def signed(self) -> Expression:
        signs = []
        while sign := self.takes("+", "-"):
            signs.append(sign)
        depth = self.depth
        base = self.atom()
        if self.takes("**"):
            self.deeper()
            base = self.operation(base.at, "**", base, self.signed())
            self.depth = depth
        for sign in reversed(signs):
            if sign.text == "-":
                negative = isinstance(base, Number) and not base.written.startswith("-")
                if negative and isinstance(base, Number):
                    base = Number(sign.at, f"-{base.written}", base.unit)
                else:
                    base = self.operation(sign.at, "negative", base)
        return base

    def atom(self) -> Expression:
        word, depth = self.word, self.depth
        if self.takes("("):
            self.deeper()
            inner = self.sum()
            self.needs(")")
            self.depth = depth
            return inner
        if word.term is None:
            raise self.unexpected("a name, a number or a text in quotes")
        self.position += 1
        following = self.word
        if isinstance(word.term, Name) and following.kind == "sign" and following.text == "(":
            return self.call(word.term)
        if isinstance(word.term, Number) and float(word.term.written) == float("inf"):
            raise _UnexpectedError(word.at, "the number is too large")
        return word.term

    def call(self, name: Name) -> Expression:
        if name.name not in FUNCTIONS:
            message = f"unknown function '{name.name}'"
            raise _UnexpectedError(name.at, message, nearest(name.name, FUNCTIONS))
        depth = self.depth
        self.deeper()
        parts, wanted = self.listed(), FUNCTIONS[name.name]
        self.depth = depth
        if len(parts) != wanted:
            message = f"{name.name}() takes {wanted} argument{'s'[: wanted - 1]}"
            raise _UnexpectedError(name.at, message)
        return self.operation(name.at, name.name, *parts)
