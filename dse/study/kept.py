"""The text of a study as it may be kept and shown: without the credentials of any URL in it."""

from __future__ import annotations

import datetime
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dse.problems import without_passwords
from dse.study.urls import credentials, shown_url


def kept_text(text: str, content: Mapping[str, Any], toml: bool) -> str:
    """Return a study's text with the storage's URL as it is shown, and no password in any other.

    The text stays as written if that is all that has to change. Otherwise, for a URL that is
    written with escapes, say, or a password in a comment, it is written anew from the content.

    Parameters
    ----------
    text : str
        As written.
    content : mapping
        What it holds.
    toml : bool
        Whether it is TOML; else JSON.
    """
    run = content.get("run")
    url = run.get("storage") if isinstance(run, Mapping) else None
    wanted, masked, secrets = _masked(content), without_passwords(text), set[str]()
    if isinstance(url, str):
        wanted["run"]["storage"] = shown_url(url)
        masked, secrets = without_passwords(text.replace(url, shown_url(url))), credentials(url)
    elif masked == text and all(without_passwords(each) == each for each in _texts(content)):
        return text
    read: Callable[[str], Any] = tomllib.loads if toml else json.loads
    if not any(secret in masked for secret in secrets) and _holds(read, masked, wanted):
        return masked
    return to_toml(wanted) if toml else json.dumps(wanted, indent=1)


def deciding(content: Mapping[str, Any]) -> str:
    """Return, as JSON, what of a study's content decides its result.

    Without passwords; without the time-out, which decides how far a run gets; and without the
    target: what it adds to the search is known once it is resolved.
    """
    run, search = content.get("run"), content.get("search")
    told = _masked({name: table for name, table in content.items() if name != "target"})
    if isinstance(run, Mapping) and isinstance(run.get("storage"), str):
        told["run"]["storage"] = shown_url(run["storage"])
    if isinstance(search, Mapping):
        told["search"].pop("timeout", None)
        if not told["search"]:
            told.pop("search")
    return json.dumps(told, default=str)


def _masked(value: Any) -> Any:
    match value:
        case str():
            return without_passwords(value)
        case Mapping():
            return {_masked(k): _masked(v) for k, v in value.items()}
        case list() | tuple():
            return [_masked(v) for v in value]
    return value


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for k, v in value.items():
                yield from (*_texts(k), *_texts(v))
        case list() | tuple():
            for v in value:
                yield from _texts(v)


def _holds(read: Callable[[str], Any], text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return repr(read(text)) == repr(wanted)  # as texts, for NaN is not equal to itself
    except ValueError:
        return False


def to_toml(content: Mapping[str, Any]) -> str:
    """Return a mapping as TOML.

    >>> print(to_toml({"a": {"b": 1, "c d": [True, "x"]}, "e": [{"f": 0.5}]}))
    [a]
    b = 1
    "c d" = [true, "x"]
    <BLANKLINE>
    [[e]]
    f = 0.5
    """
    plain = {k: v for k, v in content.items() if not _tables(v)}
    blocks = [_lines(plain)] if plain else []
    for key, value in content.items():
        if isinstance(value, Mapping):
            blocks.append(f"[{_key(key)}]\n{_lines(value)}".rstrip())
        elif _tables(value):
            blocks += [f"[[{_key(key)}]]\n{_lines(table)}".rstrip() for table in value]
    return "\n\n".join(blocks)


def _tables(value: Any) -> bool:
    listed = isinstance(value, list) and value and all(isinstance(v, Mapping) for v in value)
    return isinstance(value, Mapping) or bool(listed)


def _lines(table: Mapping[str, Any]) -> str:
    return "\n".join(f"{_key(key)} = {_value(value)}" for key, value in table.items())


def _key(key: str) -> str:
    plain = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if plain else _text(key)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return _text(value)
        case datetime.date() | datetime.time():
            return value.isoformat()
        case Mapping():
            return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
        case list():
            return "[" + ", ".join(map(_value, value)) + "]"
    return repr(value)  # numbers
