"""Credentials: the form of database URLs, and texts without the passwords in them."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote, unquote_plus

from dse.problems import HIDDEN, Problem, without_passwords
from dse.study.input_files import to_toml

_PORT = re.compile(r"[^:]*(:\d*)?")  # a host, and a port
_FORM = re.compile(
    r"""
    \w[\w+.-]*://                  # as SQLAlchemy reads it
    ([^\s:/]*(:[^@]*)?@)?         # user, password
    (\[[\da-f:.%]+\]|[^\s:/?@\[\]]*)(:\d*)?  # host, port
    (/.*|\?.*)?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LONG = 4  # characters of a query value that may be a credential, whatever its key


def is_server(url: str) -> bool:
    """Return whether a storage is a PostgreSQL server."""
    return url.strip().startswith("postgresql")


def url_problem(url: str) -> Problem | None:
    """Return what is wrong with the form of a storage's URL, which is not shown; None if nothing.

    >>> print(url_problem("postgresql://me:secret@host:port/db").message)
    is not a database URL
    """
    if _FORM.fullmatch(url):
        return None
    form = "give postgresql://USER:PASSWORD@HOST:PORT/DATABASE or sqlite:///FILE"
    remedy = f"{form}; an @ in a password is written %40"
    return Problem("run.storage", "is not a database URL", remedy)


def is_masked(url: str) -> bool:
    """Return whether a URL lacks its password: the URL is from the copy of a study."""
    return _split(url.partition("://")[2])[0].endswith(f":{HIDDEN}")


def mask_url(url: str) -> str:
    """Return a URL without its password and without its query, which may hold credentials too.

    >>> mask_url("postgresql://me:secret@host:5432/db?sslpassword=x")
    'postgresql://me:***@host:5432/db'
    >>> mask_url("sqlite:////tmp/a@b.db?timeout=20")
    'sqlite:////tmp/a@b.db'
    """
    scheme, colon, rest = url.strip().partition("://")
    if not colon:
        return "(no database URL)"
    login, at, place = _split(rest)
    user, colon, _ = login.partition(":")
    place = place.partition("?")[0]
    return f"{scheme}://{user}{':' + HIDDEN if colon else ''}{at}{place}"


def list_credentials(url: str) -> set[str]:
    """Return the texts that must not be shown: password and query values, as written and decoded.

    A short query value, such as a number of seconds, is a secret only if its key is. A driver may
    split a password at a sign that should have been written with a %, and show the rest as a host.
    """
    login, _, place = _split(url.partition("://")[2])
    password = login.partition(":")[2]
    found = {password, *(part for part in re.split("[@:/?]", password) if len(part) > 1)}
    for pair in re.split("[&;]", place.partition("?")[2]):
        key, _, value = pair.partition("=")
        if len(value) >= _LONG or re.search("pass|pwd|secret|token|key", key, re.IGNORECASE):
            found.add(value)
    found |= {unquote(text) for text in found} | {unquote_plus(text) for text in found}
    return found - {""}


def hide_credentials(text: str, url: str) -> str:
    """Return a text, such as a driver's message, without the credentials of a URL."""
    shown = dict.fromkeys(list_credentials(url), HIDDEN)
    if url:
        shown[url] = mask_url(url)
    if not shown:
        return text
    longest = sorted(shown, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest)), lambda found: shown[found[0]], text)


def _split(rest: str) -> tuple[str, str, str]:
    """Split what follows ``://`` into login, ``@`` and place; a password may hold any sign."""
    if rest.startswith("/"):  # a path, and no host
        return "", "", rest
    login, at, place = rest.rpartition("@")
    host = re.split("[/?]", rest, maxsplit=1)[0]
    if not at and not host.startswith("[") and not _PORT.fullmatch(host):
        return rest, "", ""  # the @ is missing: the text after the colon is not a port
    return login, at, place


# The text of a study without credentials


def mask_study_text(text: str, content: Mapping[str, Any], toml: bool) -> str:
    """Return a study's text with the storage's URL as it is shown, and no password in any other.

    The text stays as written if nothing else has to change. Otherwise, such as for a URL with
    escapes or a password in a comment, it is written again from the content.
    """
    run = content.get("run")
    url = run.get("storage") if isinstance(run, Mapping) else None
    wanted, masked, secrets = _masked(content), without_passwords(text), set[str]()
    if isinstance(url, str):
        wanted["run"]["storage"] = mask_url(url)
        masked, secrets = without_passwords(text.replace(url, mask_url(url))), list_credentials(url)
    elif masked == text and repr(wanted) == repr(content):
        return text
    read: Callable[[str], Any] = tomllib.loads if toml else json.loads
    if not any(secret in masked for secret in secrets) and _holds(read, masked, wanted):
        return masked
    return to_toml(wanted) if toml else json.dumps(wanted, indent=1)


def deciding_content(content: Mapping[str, Any]) -> str:
    """Return, without passwords, the part of a study's content that decides its result, as JSON.

    It leaves out passwords, the time limit, the preferences, and the target, whose constraints
    `resolve` adds.
    """
    run, search = content.get("run"), content.get("search")
    kept = {n: table for n, table in content.items() if n not in ("target", "recommend")}
    decides = _masked(kept)
    if isinstance(run, Mapping) and isinstance(run.get("storage"), str):
        decides["run"]["storage"] = mask_url(run["storage"])
    if isinstance(search, Mapping):
        decides["search"].pop("timeout", None)
        if not decides["search"]:
            decides.pop("search")
    return json.dumps(decides, default=str)


def _masked(value: Any) -> Any:
    match value:
        case str():
            return without_passwords(value)
        case Mapping():
            return {_masked(k): _masked(v) for k, v in value.items()}
        case list() | tuple():
            return [_masked(v) for v in value]
    return value


def _holds(read: Callable[[str], Any], text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return repr(read(text)) == repr(wanted)  # as texts, for NaN is not equal to itself
    except ValueError:
        return False
