"""Cache results follow from addresses: nothing but the program and its run moves its memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dse.profile import Profile, ProfileOptions
from dse.profile.command import build_program
from dse.profile.document import CacheLevels
from tests.profile.examples import CACHES, needs_compiler, run_built, source

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
SMALL = CACHES[1:2]
CONFIGURED = (*CACHES[:2], *SMALL)
MORE = "int more(int n) { static int kept[999] = {1}; return n ? more(n - 1) * kept[n] + 3 : 7; }\n"


def profiled(
    folder: Path, caches: tuple[CacheLevels, ...] = CONFIGURED, **settings: Any
) -> Profile:
    folder.mkdir(parents=True)
    options = ProfileOptions((source(folder, PROGRAM),), ("argument",), caches=caches, **settings)
    profile, _ = run_built(build_program(options, folder), options.arguments, b"")
    assert profile.run.complete
    if not profile.run.addresses_fixed:
        pytest.skip("addresses are random on this machine: its rules refuse to fix them")
    return profile


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return profiled(tmp_path_factory.mktemp("addresses") / "plain")


@needs_compiler
def test_neither_folder_nor_environment_nor_other_code_changes_a_profile(
    plain: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runtime's size depends on the processor, that of the start files on the C library."""
    read = {t.to: t.bytes for t in plain.transfers if t.source == "(input)"}
    # an invocation counts a byte once: of the pointer and the argument's first letters in main, of
    # five letters in each of 21 calls
    assert read == {"main": 8 + 7, "deep": 21 * 5}
    more = source(tmp_path, MORE, "more.c")
    monkeypatch.setenv("DSE_TEST_UNSEEN", "x" * 4000)
    monkeypatch.setenv("DSE_TEST_VARIABLE", "x" * 4000)
    folder = tmp_path / ("long" * 30)
    other = profiled(folder, environment=("DSE_TEST_VARIABLE",), link_flags=(str(more),))
    assert other.dumps() == plain.dumps()
    assert (folder / "out").read_bytes().endswith(b" 1\n")


PLACES = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
struct record { long kept[10]; };
static int zero[1000], given[] = {1, 2, 3};
static const char constant[] = "constant";
static long passed(struct record r, int n) {
    printf("argument %p\n", (void *)&r);
    return r.kept[n];
}
static int compare(const void *a, const void *b) {
    volatile int local = *(const int *)a - *(const int *)b;
    printf("called back %p\n", (void *)&local);
    return local;
}
static int deep(int n) {
    volatile int local[10];
    local[n] = n;
    printf("stack %p\n", (void *)local);
    return n ? deep(n - 1) + local[n] : 0;
}
int main(int count, char **arguments) {
    struct record r = {{1, 2}};
    printf("static %p %p %p\n", (void *)zero, (void *)given, (void *)constant);
    void *map = mmap(0, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 9; i++)
        printf("heap %p %p\n", malloc(10 << i), malloc(100000 << i));
    printf("mapping %p, arguments %p\n", map, (void *)arguments[0]);
    qsort(given, 3, sizeof *given, compare);
    return (int)(deep(3) + passed(r, count)) < 0;
}
"""


@needs_compiler
def test_no_option_moves_an_object_of_the_program(tmp_path: Path) -> None:
    """Whatever is measured: the mappings of the profiler, its tables and hooks are not seen."""
    settings: list[dict[str, Any]] = [
        {"caches": (), "transfers": False},
        {"caches": SMALL, "chunk": 8, "functions": ("deep",), "region": "passed"},
    ]
    outputs = set()
    for number, each in enumerate(settings):
        folder = tmp_path / str(number)
        folder.mkdir()
        built = build_program(ProfileOptions((source(folder, PLACES, "places.c"),), **each), folder)
        profile, said = run_built(built, (), b"")
        if not profile.run.addresses_fixed:
            pytest.skip("addresses are random on this machine: its rules refuse to fix them")
        outputs.add(said)
    assert len(outputs) == 1


@needs_compiler
def test_what_a_cache_finds_does_not_depend_on_what_else_is_measured(
    plain: Profile, tmp_path: Path
) -> None:
    alone = profiled(tmp_path / "alone", SMALL, transfers=False)
    hits = [access.hits for access in alone.accesses]
    assert [access.hits[1:2] for access in plain.accesses] == hits
    assert [access.hits[2:] for access in plain.accesses] == hits
    assert sum(each[0][1] + each[0][2] for each in hits) > 1000
