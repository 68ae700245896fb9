"""The profile: a frozen document that is read, checked and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from dse.boundary import reader
from dse.problems import InputError, check_regular
from dse.profile.document.check import WRITTEN, field_problems, reference_problems
from dse.profile.document.schema import Document
from dse.profile.errors import source_error

FORMAT_VERSION = 4

_BYTES = 1 << 30  # of a profile
_FEW_CALLS = 1e-6
"""Calls of libraries per instruction below which their work is less than about 1 %: if a call takes
10,000 instructions."""


class Profile(Document):
    """The profile of a program: blocks, edges, memory, functions and the data between them."""

    @property
    def libraries_matter(self) -> bool:
        """Whether libraries may do a noticeable part of the program's work.

        Then the program runs again under valgrind, which takes half to all of the time of callgrind
        with caches. The signs are many calls, and calls that may take long: of functions whose
        effect is unknown, such as zlib's, or that call back, such as ``qsort``. Without transfers
        no model uses the work of libraries.
        """
        if not self.settings.transfers:
            return False
        executed = sum(block.executions * block.area for block in self.blocks)
        calls = sum(f.invocations for f in self.functions if f.foreign)
        foreign, tree = {f.name for f in self.functions if f.foreign}, self.call_tree
        calls_back = any(n.parent >= 0 and tree[n.parent].function in foreign for n in tree)
        unknown = bool(self.unaccounted.functions)
        return calls >= _FEW_CALLS * executed or calls_back or unknown

    @classmethod
    @reader
    def load(cls, path: str | Path) -> Self:
        """Read a profile.

        Raises
        ------
        InputError
            If fields are wrong or refer to missing things (all of them), or if the file has
            another version.
        """
        try:
            check_regular(Path(path), _BYTES)
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise source_error(str(path), error.strerror or str(error)) from None
        except UnicodeDecodeError as error:
            message = f"this is not a profile, for it is not UTF-8 text: {error}"
            raise source_error(str(path), message, WRITTEN) from None
        except ValueError as error:
            raise source_error(
                str(path), f"this is not a profile, for it is not JSON: {error}", WRITTEN
            ) from None
        if not isinstance(content, dict) or content.get("format") != "dse profile":
            raise source_error(str(path), "this is not a profile", WRITTEN)
        if content.get("version") != FORMAT_VERSION:
            raise source_error(
                str(path),
                f"this is version {content.get('version')!r} of the profile format",
                _other_version(content.get("version")),
                "version",
            )
        try:
            profile = cls.model_validate(content)
        except ValidationError as error:
            found = error.errors(include_url=False)
            raise InputError(str(path), field_problems(found, cls.model_fields)) from None
        if problems := reference_problems(profile):
            raise InputError(str(path), problems)
        return profile

    def save(self, path: str | Path) -> None:
        """Write the profile as JSON, one line an element."""
        Path(path).write_text(self.dumps(), encoding="utf-8")

    def dumps(self) -> str:
        """Return the JSON text, one line an element: to be read by hand and compared."""
        content = self.model_dump(mode="json", by_alias=True)
        fields = ",\n".join(f"{json.dumps(key)}: {_text(value)}" for key, value in content.items())
        return "{\n" + fields + "\n}\n"


def _other_version(given: Any) -> str:
    """Return what to do about a profile of another version."""
    if isinstance(given, int) and given > FORMAT_VERSION:
        return f"a newer release of dse wrote it, and this one reads {FORMAT_VERSION}: upgrade dse"
    return f"this release reads version {FORMAT_VERSION}: profile the program again"


def _text(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(" " + json.dumps(item) for item in value) + "\n]"
    return json.dumps(value)
