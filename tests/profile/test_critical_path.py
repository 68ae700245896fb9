"""Work and critical path of kernels whose answer follows from their code."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import IO

import pytest

from dse.profile.command import ProfileOptions, profile_program
from dse.profile.document import CriticalPath, Profile
from objectives.communication import from_profile, verdict
from tests.profile.examples import needs_compiler, source

pytestmark = needs_compiler

KERNELS = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#define N 1000
static int in[N], out[N];
static float x[32][32], y[32][32], z[32][32], re[256], im[256];
static uint8_t bytes[4 * N], symbols[N];
static uint16_t codes[256];
struct node { struct node *next; int value; };

static void prefix_sum(void) { int s = 0; for (int i = 0; i < N; i++) { s += in[i]; out[i] = s; } }
static int list_walk(struct node *p) {
    int s = 0;
    while (p) { s += p->value; p = p->next; }
    return s;
}
static uint32_t crc(void) {
    uint32_t c = ~0u;
    for (int i = 0; i < N; i++) {
        c ^= bytes[i];
        for (int j = 0; j < 8; j++)
            c = (c >> 1) ^ (0xEDB88320u & -(c & 1));
    }
    return c;
}
static void fir(void) {
    for (int i = 0; i < N - 16; i++) {
        int s = 0;
        for (int j = 0; j < 16; j++)
            s += in[j] * in[i + j];
        out[i] = s;
    }
}
static void gemm(void) {
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 32; j++) {
            float s = 0;
            for (int k = 0; k < 32; k++)
                s += x[i][k] * y[k][j];
            z[i][j] = s;
        }
}
static void jacobi(void) {
    for (int t = 0; t < 10; t++) {
        for (int i = 1; i < 31; i++)
            for (int j = 1; j < 31; j++)
                y[i][j] = 0.25f * (x[i - 1][j] + x[i + 1][j] + x[i][j - 1] + x[i][j + 1]);
        for (int i = 1; i < 31; i++)
            for (int j = 1; j < 31; j++)
                x[i][j] = y[i][j];
    }
}
static void bubble_sort(int *v) {
    for (int i = 0; i < 127; i++)
        for (int j = 0; j < 127 - i; j++)
            if (v[j] > v[j + 1]) { int t = v[j]; v[j] = v[j + 1]; v[j + 1] = t; }
}
static uint32_t hash_chain(uint32_t h) {
    for (int i = 0; i < N; i++) { h ^= h << 13; h ^= h >> 17; h ^= h << 5; }
    return h;
}
static int wrap(int j) { for (int i = 0; i < N; i++) j = (j + in[i]) % 256; return j; }
static uint32_t decimal(uint32_t h) {
    for (int i = 0; i < N; i++) h = h / 10 + (uint32_t)in[i];
    return h;
}
static void fft(void) {  /* its butterflies, without the factors */
    for (int half = 1; half < 256; half *= 2)
        for (int i = 0; i < 256; i += 2 * half)
            for (int j = i; j < i + half; j++) {
                float a = re[j], b = im[j], c = re[j + half], d = im[j + half];
                re[j] = a + c; im[j] = b + d; re[j + half] = a - c; im[j + half] = b - d;
            }
}
static int huffman(void) {
    uint32_t held = 0; int bits = 0, at = 0;
    for (int i = 0; i < N; i++) {
        while (bits <= 24) { held |= (uint32_t)bytes[at++] << (24 - bits); bits += 8; }
        uint16_t code = codes[held >> 24];
        symbols[i] = code & 255; held <<= code >> 8; bits -= code >> 8;
    }
    return at;
}
struct reader { uint32_t held; int left; const uint8_t *from; };
static struct reader reader;
static int next_bit(struct reader *r) {
    if (!r->left) { r->held = *r->from++; r->left = 8; }
    int bit = r->held & 1;
    r->held >>= 1; r->left--;
    return bit;
}
static int bit_reader(void) {  /* its state is in memory, at one address */
    int s = 0;
    reader.from = bytes;
    for (int i = 0; i < 8 * N; i++) s += next_bit(&reader);
    return s;
}
int main(void) {
    int least, seen = scanf("%d", &least);  /* the second run reads it again */
    struct node *list = 0;
    for (int i = 0; i < N; i++) {
        struct node *one = malloc(sizeof *one);
        one->next = list; one->value = i; list = one;
        in[i] = rand() % 1000;
    }
    for (int i = 0; i < 4 * N; i++) bytes[i] = rand();
    for (int i = 0; i < 256; i++) codes[i] = (8 << 8) | i;
    for (int i = 0; i < 1024; i++) {
        x[i / 32][i % 32] = y[i / 32][i % 32] = i;
        re[i / 4] = im[i / 4] = i;
    }
    prefix_sum(); fir(); gemm(); bubble_sort(in);
    float one = z[3][5];
    jacobi(); fft();
    int all = list_walk(list) + crc() + hash_chain(7) + huffman() + wrap(3) + decimal(99)
        + bit_reader();
    printf("%d %d %f %f %f\n", all, out[5] + symbols[9], one, x[3][4], re[7] + im[9]);
    return seen != 1 || least != 42;
}
"""

# Cycles of hardware: an addition, a comparison and an address 1/2, logic 1/4, a load 2, a store 1,
# a multiplication 2, a floating-point operation 4.
ITERATIONS = {
    # kernel: (iterations of its chain, cycles of each, cycles of all operations)
    "prefix_sum": (1000, 0.5, 1000 * 5.5),  # load, store, sum, two addresses, counter and its test
    "list_walk": (1000, 2, 1000 * 5),  # the next address is loaded; the value is another load
    "crc": (8000, 1.25, 8000 * 2.25),  # mask, negation, mask, exclusive or
    "fir": (16, 0.5, 984 * 16 * 9.0),  # sums of a tap follow each other; two loads, a product
    "gemm": (32, 4, 32**3 * 14.0),  # a chain of sums per element
    "jacobi": (10, 2 + 12 + 4 + 1 + 2 + 1, 9000 * 32.0),  # of a sweep and of its copy
    "bubble_sort": (2 * 127, 2, 8128 * 5.0),  # passes follow each other at a distance of two
    "hash_chain": (1000, 0.75, 1000 * 1.75),
    "wrap": (1000, 1.75, 1000 * 5.25),  # sum, and its remainder without a divider
    "decimal": (1000, 3, 1000 * 6.5),  # a quotient is a product and a sum
    "fft": (8, 2 + 4 + 1, 1024 * 32.0),  # eight stages: load, sum, store
    "bit_reader": (8000, 0.5, 8000 * 3.0),  # one bit less is left; a new byte waits for a test
    "huffman": (1000, 2 + 0.25 + 3, 1000 * 9.0),  # the code's length moves the bits that follow
}


DECODERS = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#define N 1000
struct reader { const uint8_t *from; int at; };
static uint8_t bytes[16 * N], symbols[N], table[1 << 16];
static int words[N];
static int bit(const uint8_t *from, int at) { return from[at >> 3] >> (at & 7) & 1; }
static int nested(void) {
    int at = 0;
    for (int i = 0; i < N; i++) {
        unsigned code = 1;
        do code = code << 1 | bit(bytes, at++); while (!table[code]);
        symbols[i] = table[code];
    }
    return at;
}
static int symbol(int *place) {
    int at = *place; unsigned code = 1;
    do code = code << 1 | bit(bytes, at++); while (!table[code]);
    *place = at;
    return table[code];
}
static int by_pointer(void) {
    int at = 0;
    for (int i = 0; i < N; i++) symbols[i] = symbol(&at);
    return at;
}
static int one_bit(struct reader *r) { int b = bit(r->from, r->at); r->at++; return b; }
static int by_structure(void) {
    struct reader r = {bytes, 0};
    for (int i = 0; i < N; i++) {
        unsigned code = 1;
        do code = code << 1 | one_bit(&r); while (!table[code]);
        symbols[i] = table[code];
    }
    return r.at;
}
static int fields(void) {  /* each field begins with its length: known when its loop begins */
    int at = 0;
    for (int i = 0; i < N; i++) {
        unsigned count = 1 + (bytes[at] & 7), value = 0;
        for (unsigned k = 0; k < count; k++) value = value << 1 ^ bytes[at++];
        words[i] = value;
    }
    return at;
}
static int length(const uint8_t *s) { int n = 0; while (s[n]) n++; return n; }
static int tokens(const uint8_t *p) {
    int n = 0;
    while (*p) {
        if (*p < 64) { p++; continue; }
        const uint8_t *begin = p;
        while (*p >= 64) p++;
        words[n++ % N] = p - begin;
    }
    return n;
}
static void searches(void) {
    for (int i = 0; i < N; i++) {
        int k = 0;
        while (bytes[16 * i + k] < 250 && k < 15) k++;
        words[i] = k;
    }
}
int main(void) {
    for (int i = 0; i < 16 * N - 1; i++) bytes[i] = 1 + rand() % 255;
    for (int i = 16; i < 1 << 16; i++) table[i] = 1 + (i & 127);
    for (int i = 5; i < 16; i += 2) table[i] = i;
    int all = nested() + by_pointer() + by_structure() + fields() + length(bytes) + tokens(bytes);
    searches();
    printf("%d %d %d\n", all, symbols[9], words[9]);
    return 0;
}
"""


LINKS = r"""
#include <stdio.h>
#include <stdlib.h>
struct node { struct node *next, *left, *right; long value; };
static struct node *add(struct node *next, long value) {
    struct node *made = calloc(1, sizeof *made);
    made->next = next;
    made->value = value;
    return made;
}
static struct node *chain(int n) {
    struct node *list = 0;
    while (n--) list = add(list, n);
    return list;
}
static long list(const struct node *at) {
    long sum = 0;
    for (; at; at = at->next) sum += at->value;
    return sum;
}
static long twice(const struct node *at) { return list(at) + list(at->next); }
static long ring(const struct node *at) {
    long sum = 0;
    for (int i = 0; i < 500; i++, at = at->next) sum += at->value;
    return sum;
}
static struct node *balanced(int depth) {
    struct node *made = add(0, depth);
    if (depth) { made->left = balanced(depth - 1); made->right = balanced(depth - 1); }
    return made;
}
static long tree(const struct node *at) {
    return at ? at->value + tree(at->left) + tree(at->right) : 0;
}
static long rows(long *const *row, int n) {
    long sum = 0;
    for (int i = 0; i < n; i++) for (int k = 0; k < 40; k++) sum += row[i][k];
    return sum;
}
static long built(int n) { return list(chain(n)); }
static void put(struct node *at) { for (; at; at = at->next) at->value++; }
int main(void) {
    struct node *given = chain(100), *circle = chain(4), *top = balanced(7);
    circle->next->next->next->next = circle;
    long *row[50], sum = 0;
    for (int i = 0; i < 50; i++) row[i] = calloc(40, sizeof **row);
    for (int i = 0; i < 3; i++) {
        sum += twice(given) + ring(circle) + tree(top) + rows(row, 50) + built(60);
        put(given);
        top->value++;
    }
    printf("%ld\n", sum);
    return 0;
}
"""


CALLS = r"""
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
static jmp_buf place;
static unsigned next(unsigned x) { return 1664525u * x + 1013904223u; }
static unsigned steps(unsigned x, int n) { return n ? steps(next(x), n - 1) : x; }
static void deep(int n) { if (n) deep(n - 1); else longjmp(place, 1); }
static int below(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static unsigned apart(const unsigned *v, unsigned *w, int n) {
    for (int i = 0; i < n; i++) w[i] = next(v[i]);
    return w[n - 1];
}
int main(void) {
    static unsigned v[1000], w[1000];
    for (int i = 0; i < 1000; i++) v[i] = i;
    unsigned r = steps(3, 8);
    for (int k = 0; k < 3; k++) if (!setjmp(place)) deep(5);
    qsort(v, 1000, sizeof *v, below);
    r += apart(v, w, 1000);
    printf("%u\n", r);
    return 20;
}
"""


BYTES = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#define N 1000
static uint8_t box[256], state[N], copy[N + 8], sums[N];
static void substitute(void) {
    for (int i = 0; i < N; i++) state[i] = box[state[i]];
}
static void moved(void) {
    substitute();
    memcpy(copy + 3, state, N);
    memmove(copy, copy + 3, N);
    for (int i = 0; i < N; i++) copy[i] = box[copy[i]];
}
static void add_bytes(void) {
    for (int i = 1; i < N; i++) sums[i] = sums[i] + sums[i - 1];
}
static unsigned mixed(void) {
    unsigned all = 0;
    for (int i = 0; i < N; i += 4) {
        for (int k = 0; k < 4; k++) state[i + k] = box[state[i + k]];
        unsigned word;
        memcpy(&word, state + i, 4);
        all += word;
        word = box[word & 255];
        memcpy(state + i, &word, 4);
        state[i] = box[state[i + 3]];
    }
    return all;
}
static const uint8_t first[16] = {3, 1, 4};
static void blocks(void) {
    uint8_t block[16];
    for (int i = 0; i + 16 <= N; i += 16) {
        memcpy(block, first, 16);
        for (int k = 0; k < 16; k++) block[k] = box[block[k]];
        memcpy(sums + i, block, 16);
    }
}
int main(void) {
    for (int i = 0; i < 256; i++) box[i] = 7 * i + 1;
    substitute(); moved(); add_bytes(); blocks();
    printf("%u %d %d\n", mixed(), copy[N - 1], sums[N - 1]);
    return 0;
}
"""


PARTS = {
    "kernels": KERNELS,
    "decoders": DECODERS,
    "links": LINKS,
    "calls": CALLS,
    "bytes": BYTES,
}


def timed(
    sources: tuple[Path, ...], level: int = 1, given: IO[bytes] | int | None = None
) -> Profile:
    options = ProfileOptions(
        sources, caches=(), critical_paths=True, libraries=False, optimisation=level
    )
    return profile_program(options, stdin=given, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    """Profile all parts as one program, of a file for each."""
    folder = tmp_path_factory.mktemp("parts")
    sources = [
        source(folder, text.replace("int main(", f"int {name}("), f"{name}.c")
        for name, text in PARTS.items()
    ]
    declared = ", ".join(f"{name}(void)" for name in PARTS)
    called = " + ".join(f"{name}()" for name in PARTS)
    main = source(folder, f"int {declared};\nint main(void) {{ return {called}; }}", "main.c")
    (folder / "given").write_text("42")
    with (folder / "given").open("rb") as given:
        profile = timed((main, *sources), given=given)
    assert profile.run.exit_status == 20  # of `calls`; the others return 0
    return profile


def path_of(profile: Profile, function: str) -> CriticalPath:
    found = next(f.critical_path for f in profile.functions if f.name == function)
    assert found is not None
    return found


@pytest.mark.parametrize("kernel", ITERATIONS)
def test_parallelism_is_within_a_factor_of_two(profile: Profile, kernel: str) -> None:
    count, cycles, work = ITERATIONS[kernel]
    found = path_of(profile, kernel)
    assert found.calls == 1
    assert count * cycles * 0.9 <= found.length < 2 * count * cycles + 20  # a start and an end
    assert work / 2 < found.work < 2 * work
    assert work / count / cycles / 2 < found.work / found.length < 2 * work / count / cycles


def test_engines_wait_for_serial_kernels_only(profile: Profile) -> None:
    program = from_profile(profile)
    limits = {name: verdict(program, name).factor_limit for name in ITERATIONS}
    assert max(limits[name] for name in ("list_walk", "huffman")) < 3
    assert min(limits[name] for name in ("gemm", "jacobi", "fft", "fir")) > 50


def test_positions_that_depend_on_data_wait_for_it(profile: Profile) -> None:
    paths = {f.name: f.critical_path for f in profile.functions if f.critical_path}
    parallelism = {name: path.work / path.length for name, path in paths.items() if path.length}
    # a bit loads a byte and an entry of the table, and no other bit can overtake it
    for name in ("nested", "by_pointer", "by_structure", "symbol", "length", "tokens"):
        assert 1 <= parallelism[name] < 2.5, name
    # a field waits for the length of the one before: a load, a mask, two sums and an address
    assert 1000 * 3 < paths["fields"].length < 1000 * 7
    assert parallelism["searches"] > 500  # each is serial, and waits for no other
    program = from_profile(profile)
    assert verdict(program, "nested").factor_limit < 2.5
    assert verdict(program, "searches").factor_limit > 500


def check_links(profile: Profile) -> None:
    """Compare objects of linked structures with those behind six pointers."""
    linked = {f.name: f.critical_path.linked_objects for f in profile.functions if f.critical_path}
    # the first node is an argument, and five pointers lead to the next five
    assert linked["list"] == 3 * ((100 - 6) + (99 - 6) + (60 - 6))
    assert linked["twice"] == linked["put"] == 3 * (100 - 6)
    assert linked["tree"] == 3 * (2**8 - 2**6)  # two of eight levels: six pointers and seven
    assert not any(linked[name] for name in ("ring", "rows", "built", "chain", "main"))
    staying = from_profile(profile).staying
    assert staying["tree"] == "walks linked structures of the host: 192 objects in a call"
    assert not {"ring", "rows"} & set(staying)


def test_objects_of_linked_structures_are_those_behind_six_pointers(
    profile: Profile, tmp_path: Path
) -> None:
    check_links(profile)
    check_links(timed((source(tmp_path, LINKS),), level=0))


def test_calls_count_for_their_callers(profile: Profile) -> None:
    one = path_of(profile, "next").length / path_of(profile, "next").calls
    assert one == 2.5  # a product and a sum
    steps, apart = path_of(profile, "steps"), path_of(profile, "apart")
    assert steps.calls == apart.calls == 1  # recursions belong to the outermost call
    assert 8 * one <= steps.length < 8 * one + 10
    assert one <= apart.length < one + 10
    assert path_of(profile, "deep").calls == 3  # left by long jumps
    assert path_of(profile, "below").calls > 1000  # from the library


def test_a_byte_waits_for_no_byte_beside_it(profile: Profile) -> None:
    # a load of the state and one of the table, a store, addresses
    assert 5 <= path_of(profile, "substitute").length / 2 < 7
    assert 10 <= path_of(profile, "moved").length < 20  # two such passes
    assert path_of(profile, "add_bytes").length >= 999 * 0.5  # each sum waits for the one before
    assert path_of(profile, "blocks").length < 20  # none waits for the block before
    mixed = path_of(profile, "mixed").length  # a sum of words, which wait for all of their bytes
    assert 250 * 0.5 < mixed < 250 * 0.5 + 30


def test_a_run_that_fails_the_second_time_leaves_a_note(tmp_path: Path) -> None:
    text = """
    #include <stdio.h>
    #include <stdlib.h>
    int main(void) {
        FILE *mark = fopen("%s", "r");
        if (mark) abort();
        fclose(fopen("%s", "w"));
    }"""
    mark = tmp_path / "mark"
    profile = timed((source(tmp_path, text % (mark, mark)),))
    assert all(function.critical_path is None for function in profile.functions)
    assert any("critical paths were not measured" in note for note in profile.notes)
