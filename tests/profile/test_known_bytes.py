"""Small programs whose transfers follow from their text: values that the language copies."""

from __future__ import annotations

import pytest

from dse.profile.command import ProfileOptions, build_program
from dse.profile.document import CacheLevels, Profile
from tests.profile.examples import calls, needs_compiler, profile_text, run_built, source

pytestmark = needs_compiler

C = r"""
#define EACH(i, n) for (int i = 0; i < n; i++)
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
struct large { int v[25]; };
static struct large value;
static void make_value(void) { EACH(i, 25) value.v[i] = i; }
static int take_value(struct large s) { int r = 0; EACH(i, 25) r += s.v[i]; return r; }
static struct large give(int k) { struct large s; EACH(i, 25) s.v[i] = i * k; return s; }
static int take_given(const struct large *s) { int r = 0; EACH(i, 25) r += s->v[i]; return r; }

static union { double number; unsigned char bytes[8]; } mixed;
static void put_number(double x) { mixed.number = x; }
static int take_bytes(void) { return mixed.bytes[0] + mixed.bytes[1] + mixed.bytes[2]; }

static struct { unsigned a : 5, b : 11, c : 16; } packed;
static void put_bits(unsigned x) { packed.b = x; }
static unsigned take_bits(void) { return packed.b; }

static int take_numbers(int n, ...) {
    va_list list; int r = 0;
    va_start(list, n);
    EACH(i, n) r += va_arg(list, int);
    va_end(list);
    return r;
}
static int take_structures(int n, ...) {
    va_list list; int r = 0;
    va_start(list, n);
    EACH(k, n) {
        const struct large s = va_arg(list, struct large);
        EACH(i, 25) r += s.v[i];
    }
    va_end(list);
    return r;
}

static int *new_zeros, *old_zeros, *first_zeros;
static void make_new_zeros(void) { new_zeros = calloc(200000, 4); }
static void make_old_zeros(void) {
    char *block = malloc(5000); memset(block, 1, 5000); free(block);  /* back to the heap */
    old_zeros = calloc(250, 4);
}
static void make_first_zeros(void) { first_zeros = calloc(250, 4); }  /* no block was there */
static int take_first_zeros(void) { int r = 0; EACH(i, 100) r += first_zeros[i]; return r; }
static int take_new_zeros(void) { int r = 0; EACH(i, 100) r += new_zeros[i]; return r; }
static int take_old_zeros(void) { int r = 0; EACH(i, 100) r += old_zeros[i]; return r; }

static char *grown;
static void fill(void) { grown = malloc(100); EACH(i, 100) grown[i] = i; }
static void grow(void) { char *other = malloc(100); grown = realloc(grown, 5000); free(other); }
static int take_grown(void) { int r = 0; EACH(i, 100) r += grown[i]; return r; }

static jmp_buf place; static int jumped[10];
static void jump(void) { EACH(i, 10) jumped[i] = i; longjmp(place, 1); }
static int take_jumped(void) { int r = 0; EACH(i, 10) r += jumped[i]; return r; }

typedef float four __attribute__((vector_size(16)));
static four lanes[4];
static void put_lanes(float x) { EACH(i, 4) lanes[i] = (four){x, x, x, x}; }
static float take_lanes(void) {
    four r = lanes[0];
    for (int i = 1; i < 4; i++) r += lanes[i];
    return r[0] + r[3];
}

static int nested[10];
static void inner(int k) { EACH(i, 10) nested[i] = k + i; }
static int outer(int k) { int r = 0; inner(k); EACH(i, 10) r += nested[i]; return r; }
static int take_nested(void) { int r = 0; EACH(i, 10) r += nested[i]; return r; }

int main(int n, char **a) {
    (void)a; int r = 0;
    make_value();
    EACH(i, 3) { r += take_value(value); value.v[0] = i; }
    struct large returned = give(n); r += take_given(&returned);
    put_number(n); r += take_bytes();
    put_bits(n); r += take_bits();
    r += take_numbers(10, 1, 2, 3, 4, 5, 6, 7, 8, 9, n);
    r += take_structures(2, value, value);
    make_first_zeros(); r += take_first_zeros();
    make_new_zeros(); r += take_new_zeros(); make_old_zeros(); r += take_old_zeros();
    fill(); grow(); r += take_grown();
    if (!setjmp(place)) jump();
    r += take_jumped();
    put_lanes(n); r += take_lanes();
    r += outer(n) + take_nested();
    return r & 1;
}
"""

CXX = r"""
#include <cstdio>
#define EACH(i, n) for (int i = 0; i < n; i++)
struct box { int v[10]; box() {} box(const box &o) { EACH(i, 10) v[i] = o.v[i]; } };
static void fill(box &b) { EACH(i, 10) b.v[i] = i; }
static int take(box b) { int r = 0; EACH(i, 10) r += b.v[i]; return r; }
struct error { int v[10]; };
static void raise_error(int k) { error e; EACH(i, 10) e.v[i] = k; throw e; }
static int take_error(int k) {
    int r = 0;
    try { raise_error(k); } catch (const error &e) { for (int v : e.v) r += v; }
    return r;
}
struct loud {
    int value;
    loud(int given) : value(given) { std::printf("made %d\n", value); }
    ~loud() { std::printf("gone %d\n", value); }
};
static loud first(7), second(8);
template <typename T> struct holder { static loud one; };
template <typename T> loud holder<T>::one(9);
int main(int n, char **) {
    std::printf("main %d\n", first.value + holder<int>::one.value);
    box b;
    fill(b);
    return (take(b) + take(b) + take_error(n)) & 1;
}
"""

CACHE = CacheLevels(l1=32 << 10, l2=4 << 20, line=64, l1_ways=8, l2_ways=16)


@pytest.fixture(scope="module", params=[0, 2], ids="-O{}".format)
def profile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Profile:
    level = request.param
    return profile_text(tmp_path_factory.mktemp("bytes"), C, caches=(CACHE,), optimisation=level)


def moved(profile: Profile) -> dict[tuple[str, str], int]:
    return {(t.source, t.to): t.bytes for t in profile.transfers}


def test_bytes_of_values_that_c_copies(profile: Profile) -> None:
    found = moved(profile)
    expected = {
        ("make_value", "main"): 100,  # copied for each call; the first copy reads what came
        ("main", "take_value"): 3 * 100,
        ("put_number", "take_bytes"): 3,
        ("put_bits", "take_bits"): 4,  # the unit that holds the field
        ("main", "take_numbers"): 10 * 4,  # in registers that the callee saves, and in memory
        ("give", "take_given"): 100,
        ("main", "take_structures"): 2 * 100,
        ("(constants)", "take_new_zeros"): 400,  # pages that the system gives
        ("calloc", "take_old_zeros"): 400,
        ("calloc", "take_first_zeros"): 400,
        ("fill", "take_grown"): 100,
        ("jump", "take_jumped"): 40,
        ("put_lanes", "take_lanes"): 64,
        ("inner", "outer"): 40,
        ("inner", "take_nested"): 40,
    }
    assert {pair: found.get(pair, 0) for pair in expected} == expected
    # sums of lanes are carried in a register only where there are registers
    assert bool(profile.chains) == (profile.program.optimisation > 0)


def test_new_zeros_cost_no_access(profile: Profile) -> None:
    """Cache misses are those of the program that touches them: 400 B in lines of 64 B."""
    functions = {block.id: block.function for block in profile.blocks}
    misses = dict.fromkeys(functions.values(), 0)
    for access in profile.accesses:
        misses[functions[access.block]] += sum(access.hits[0][1:])
    assert misses["take_new_zeros"] in (7, 8)  # 7, and a line with the pointer if it is new
    assert misses["take_old_zeros"] <= 1  # calloc brought them in
    assert misses["take_first_zeros"] <= 1  # the heap had this memory, and calloc clears it
    assert 16 <= misses["calloc"] <= 2 * 17  # twice 1,000 B


@pytest.fixture(scope="module")
def cxx(tmp_path_factory: pytest.TempPathFactory) -> tuple[Profile, bytes]:
    folder = tmp_path_factory.mktemp("cxx")
    path = source(folder, CXX, "program.cpp")
    return run_built(build_program(ProfileOptions((path,)), folder), (), b"")


def test_bytes_of_objects_that_cxx_copies(cxx: tuple[Profile, bytes]) -> None:
    found = moved(cxx[0])
    expected = {
        ("fill(box&)", "box::box(box const&)"): 2 * 40,  # two calls
        ("box::box(box const&)", "take(box)"): 2 * 40,
        ("raise_error(int)", "take_error(int)"): 40,
    }
    assert {pair: found.get(pair, 0) for pair in expected} == expected


def test_static_objects_are_made_and_destroyed(cxx: tuple[Profile, bytes]) -> None:
    profile, output = cxx
    assert profile.run.complete
    lines = output.decode().splitlines()
    assert sorted(lines) == sorted(
        ["main 16", *(f"{word} {i}" for i in (7, 8, 9) for word in ("made", "gone"))]
    )
    assert lines.index("made 7") < lines.index("made 8") < lines.index("main 16")
    assert lines.index("main 16") < lines.index("gone 8") < lines.index("gone 7")
    assert calls(profile)["loud::~loud()"] == 3
