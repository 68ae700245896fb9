"""Cache results follow from addresses: nothing but the program and its run moves its memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dse.profile import Options, Profile
from dse.profile.command import build_program, measure
from tests.profile_examples import CACHES, needs_compiler

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static const int constants[300] = {1, 2, 3};
static const char *const words[] = {"one", "two", "three", __FILE__};
static int given[300] = {4, 5, 6}, zero[5000];
static int deep(int n, const char *text) {
    volatile int local[200];
    for (int i = 0; i < 200; i++)
        local[i] = i * n + text[i % 5];
    return n ? deep(n - 1, text) + local[n] : local[7];
}
int main(int count, char **arguments) {
    int sum = 0, *heap = malloc(4000 * sizeof *heap);
    for (int i = 0; i < 20000; i++) {
        heap[i % 4000] = i + zero[i % 5000] + constants[i % 300];
        zero[i * 7 % 5000] += given[i % 300] + words[i % 4][i % 3];
        given[i % 300] = arguments[1][i % 7];
    }
    for (int i = 0; i < 4000; i++)
        sum += heap[i];
    const char *variable = getenv("DSE_TEST_VARIABLE");
    printf("%d %d %d\n", sum, deep(20, arguments[1]), variable != NULL);
    free(heap);
    return 0;
}
"""
MORE = "int more(int n) { static int kept[999] = {1}; return n ? more(n - 1) * kept[n] + 3 : 7; }\n"


def profiled(folder: Path, **settings: Any) -> Profile:
    folder.mkdir(parents=True)
    source = folder / "program.c"
    source.write_text(PROGRAM)
    options = Options((source,), ("argument",), caches=CACHES, **settings)
    with (folder / "out").open("wb") as out:
        profile = measure(build_program(options, folder), stdout=out)
    assert profile.run.complete
    if not profile.run.addresses_fixed:
        pytest.skip("addresses are random on this machine: its rules refuse to fix them")
    return profile


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    return profiled(tmp_path_factory.mktemp("plain") / "p").dumps()


@needs_compiler
def test_a_folder_with_a_long_name_gives_the_same_profile(plain: str, tmp_path: Path) -> None:
    assert profiled(tmp_path / ("long" * 30) / "way").dumps() == plain


@needs_compiler
@pytest.mark.parametrize("length", [1, 4000])
def test_any_environment_gives_the_same_profile(
    length: int, plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DSE_TEST_UNSEEN", "x" * length)
    assert profiled(tmp_path / "unseen").dumps() == plain
    monkeypatch.setenv("DSE_TEST_VARIABLE", "x" * length)
    passed_on = profiled(tmp_path / "seen", environment=("DSE_TEST_VARIABLE",))
    assert passed_on.dumps() == plain
    assert (tmp_path / "seen" / "out").read_bytes().endswith(b" 1\n")


@needs_compiler
def test_code_of_another_size_beside_it_gives_the_same_profile(plain: str, tmp_path: Path) -> None:
    """The runtime's size depends on the processor, that of the start files on the C library."""
    (tmp_path / "more.c").write_text(MORE)
    more = profiled(tmp_path / "more", link_flags=(str(tmp_path / "more.c"),))
    assert more.dumps() == plain


@needs_compiler
def test_the_arguments_are_read_where_they_were_put(tmp_path: Path) -> None:
    profile = profiled(tmp_path / "p")
    read = {t.to: t.bytes for t in profile.transfers if t.source == "(input)"}
    # an invocation counts a byte once: of the pointer and the argument's first letters in main, of
    # five letters in each of 21 calls
    assert read == {"main": 8 + 7, "deep": 21 * 5}
