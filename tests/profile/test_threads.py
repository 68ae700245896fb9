"""Programs with threads: one is profiled, and the data of the others is known byte by byte."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import dse
from dse.problems import InputError
from dse.profile.build.toolchain import find_toolchain
from dse.profile.command import (
    InstrumentedProgram,
    ProfileOptions,
    build_program,
    profile_program,
)
from dse.profile.document import Profile
from dse.profile.show.page import page
from dse.study.draft import from_profile
from tests.commands import called
from tests.profile.examples import (
    by_name,
    calls,
    executions,
    needs_compiler,
    profile_text,
    run_built,
    source,
)

pytestmark = needs_compiler


def started(profile: Profile) -> dict[str, int]:
    """Return how many other threads began at each function."""
    return {s.function: s.count for s in profile.threads.others} if profile.threads else {}


WORKERS = r"""
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* Threads write bytes that the main thread wrote. */
static char data[4096], *block;
static short numbers[64];
static void write_all(void) { for (int i = 0; i < 4096; i++) data[i] = 1; }
static void *overwrite(void *from) {
    for (int i = 1; i < 101; i++) data[i] = 2;                  /* single bytes, words in part */
    memset(data + 1000, 3, 200);                                /* in a library function */
    for (int i = 0; i < 64; i += 2) numbers[i] = i;             /* halves of words */
    int given = 0;
    for (int i = 2000; i < 2050; i++) given += data[i];         /* reads what main wrote */
    block = calloc(1, 3000);                                    /* where main had a block */
    memcpy(data + 3000, from, 16);
    return (void *)(long)given;
}
static int take_bytes(void) { int r = 0; for (int i = 0; i < 4096; i++) r += data[i]; return r; }
static void put_numbers(void) { for (int i = 0; i < 64; i++) numbers[i] = 1; }
static int take_numbers(void) { int r = 0; for (int i = 0; i < 64; i++) r += numbers[i]; return r; }
static int take_block(void) { int r = 0; for (int i = 0; i < 3000; i++) r += block[i]; return r; }
static void rewrite(void) { for (int i = 1000; i < 1100; i++) data[i] = 4; }
static int take_again(void) {
    int r = 0;
    for (int i = 1000; i < 1200; i++) r += data[i];
    return r;
}
static int last_writers(void) {
    char given[16], *used = malloc(3000);
    memset(used, 1, 3000);
    free(used);
    memset(given, 5, 16);
    write_all();
    put_numbers();
    pthread_t thread;
    void *result;
    pthread_create(&thread, 0, overwrite, given);
    pthread_join(thread, &result);
    int r = take_bytes() + take_numbers() + take_block() + (int)(long)result;
    rewrite();
    return (r + take_again()) & 1;
}
/* A pool: the main thread does a part of the work. */
static int input[1000], result[4][100];
static void fill(void) { for (int i = 0; i < 1000; i++) input[i] = i; }
static void *work(void *part) {
    long k = (long)part;
    for (int r = 0; r < 100; r++) {
        int s = 0;
        for (int i = 0; i < 250; i++) s += input[250 * k + i] ^ r;
        result[k][r] = s;
    }
    return 0;
}
static int add(void) {
    int s = 0;
    for (int k = 0; k < 4; k++) for (int r = 0; r < 100; r++) s += result[k][r];
    return s;
}
static int pool(void) {
    pthread_t thread[4];
    fill();
    for (long k = 1; k < 4; k++) pthread_create(&thread[k], 0, work, (void *)k);
    work(0);
    for (long k = 1; k < 4; k++) pthread_join(thread[k], 0);
    return add() & 1;
}
/* Rows of several threads within a word. */
enum { T = 16, N = 1025, ROUNDS = 20 };  /* rows end within a word */
static unsigned char in[T][N], out[T][N];
static pthread_barrier_t barrier;
static void give(int r) { for (int i = 0; i < T * N; i++) in[i / N][i % N] = r + i; }
static long take(void) {
    long s = 0;
    for (int i = 0; i < T * N; i++) s += out[i / N][i % N];
    return s;
}
static void change(long t, int r) {
    for (int i = 0; i < N; i++) out[t][i] = in[t][i] ^ r;
    char *block = malloc(1000 + 16 * t);
    memset(block, r, 1000);
    out[t][0] += block[5];
    free(block);
}
static void *rows(void *row) {
    for (int r = 0; r < ROUNDS; r++) {
        pthread_barrier_wait(&barrier);
        change((long)row, r);
        pthread_barrier_wait(&barrier);
    }
    return 0;
}
static int neighbours(void) {
    pthread_t thread[T];
    long s = 0;
    pthread_barrier_init(&barrier, 0, T);
    for (long t = 1; t < T; t++) pthread_create(thread + t, 0, rows, (void *)t);
    for (int r = 0; r < ROUNDS; r++) {
        give(r);
        pthread_barrier_wait(&barrier);
        change(0, r);
        pthread_barrier_wait(&barrier);
        s += take();
    }
    for (int t = 1; t < T; t++) pthread_join(thread[t], 0);
    return s & 1;
}
/* Calls through pointers, with every kind of argument. */
struct large { int v[25]; };
struct two { double a, b; };
#define EACH(i) for (int i = 0; i < 25; i++)
static int take_large(struct large s, int k) { int r = k; EACH(i) r += s.v[i]; return r; }
static struct large give_large(int k) { struct large s; EACH(i) s.v[i] = i * k; return s; }
static struct two pair(double x) { return (struct two){x, x + 1}; }
static double sum(int n, ...) {
    va_list list; double r = 0;
    va_start(list, n);
    for (int i = 0; i < n; i++) r += va_arg(list, double);
    va_end(list);
    return r;
}
static int jump(const char *p) {
    static void *table[] = {&&zero, &&one, &&stop};
    int r = 0;
    goto *table[*p++ - '0'];
zero: r *= 2; goto *table[*p++ - '0'];
one: r = 2 * r + 1; goto *table[*p++ - '0'];
stop: return r;
}
static long many(long a, long b, long c, long d, long e, long f, long g, double x, struct large s) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + (long)x + s.v[3];
}
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static int (*volatile taking)(struct large, int) = take_large;
static struct large (*volatile giving)(int) = give_large;
static struct two (*volatile pairing)(double) = pair;
static double (*volatile summing)(int, ...) = sum;
static int (*volatile jumping)(const char *) = jump;
static __typeof__(&many) volatile adding = many;
static void *call_all(void *text) {
    int sorted[5] = {5, 3, 4, 1, 2};
    struct large s = giving(3);
    struct two t = pairing(3);
    double d = summing(10, 1., 2., 3., 4., 5., 6., 7., 8., 9., 10.);
    qsort(sorted, 5, sizeof *sorted, compare);
    sprintf(text, "%d %g %g %g %d %ld %d%d%d%d%d", taking(s, 5), t.a, t.b, d, jumping("101102"),
            adding(1, 2, 3, 4, 5, 6, 7, 8.0, s), sorted[0], sorted[1], sorted[2], sorted[3],
            sorted[4]);
    return text;
}
static void all_calls(void) {
    static char mine[200], other[200];
    pthread_t thread;
    pthread_create(&thread, 0, call_all, other);
    call_all(mine);
    pthread_join(thread, 0);
    printf("%s\n%s\n", mine, other);
}
int main(void) {
    int r = last_writers() + pool() + neighbours();
    all_calls();
    return r & 1;
}
"""


@pytest.mark.parametrize(("level", "chunk"), [(0, 4), (2, 1)])
def test_work_and_bytes_of_several_threads(level: int, chunk: int, tmp_path: Path) -> None:
    options = ProfileOptions((source(tmp_path, WORKERS),), optimisation=level, chunk=chunk)
    profile, output = run_built(build_program(options, tmp_path), (), b"")
    assert started(profile) == {"overwrite": 1, "work": 3, "rows": 15, "call_all": 1}
    moved = by_name(profile.transfers)
    check_last_writers(profile, moved, chunk)
    check_pool(profile, moved)
    if chunk == 1:
        assert profile.unaccounted.bytes == 0
        row = 20 * 1025
        assert moved["give", "(threads)"] == moved["(threads)", "take"] == 15 * row
        assert moved["give", "change"] == moved["change", "take"] == row
    expected = b"905 3 4 55 22 157 12345\n"
    assert output == 2 * expected
    called = ("take_large", "give_large", "pair", "sum", "jump", "many")
    assert {calls(profile)[name] for name in called} == {1}
    assert moved["(threads)", "printf"] == len(expected)


def check_pool(profile: Profile, moved: dict[tuple[str, str], int]) -> None:
    """Look for the work of the main thread and its data."""
    found = calls(profile)
    assert [found[name] for name in ("fill", "work", "add", "pool", "main")] == [1] * 5
    assert max(executions(profile, "work")) - 100 * 250 in (0, 100)  # with the test that ends it
    assert moved["fill", "work"] == 250 * 4
    assert moved["fill", "(threads)"] == 750 * 4
    assert moved["(threads)", "add"] == 300 * 4
    assert moved["work", "add"] == 100 * 4
    assert by_name(profile.transfers_into)["(threads)", "pool"] == 300 * 4
    assert by_name(profile.transfers_out)["fill", "(threads)"] == 750 * 4
    assert by_name(profile.returned)["main", "(threads)"] >= 750 * 4


def check_last_writers(profile: Profile, moved: dict[tuple[str, str], int], chunk: int) -> None:
    """Look for the bytes that another thread wrote: they have no other writer."""
    if chunk == 1:
        assert moved["write_all", "take_bytes"] == 4096 - 100 - 200 - 16
        assert moved["(threads)", "take_bytes"] == 100 + 200 + 16
        assert moved["put_numbers", "take_numbers"] == 32 * 2
        assert moved["(threads)", "take_numbers"] == 32 * 2
        assert moved["write_all", "(threads)"] == 50
    assert moved["rewrite", "take_again"] == 100
    assert moved["(threads)", "take_again"] == 100
    assert moved["(threads)", "take_block"] == 3000 + 8  # and the pointer
    assert moved["(threads)", "last_writers"] == 8  # the result of the thread
    assert moved["memset", "(threads)"] == 16
    reads = {
        (profile.blocks[profile.accesses[r.access].block].function, r.source is None)
        for r in profile.reads
    }
    assert ("take_bytes", True) in reads


MODES = r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { ITEMS = 5000, ROOM = 16 };
static long queue[ROOM];
static int first, count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static void put(long item) {
    pthread_mutex_lock(&mutex);
    while (count == ROOM) pthread_cond_wait(&changed, &mutex);
    queue[(first + count++) % ROOM] = item;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}
static long get(void) {
    pthread_mutex_lock(&mutex);
    while (!count) pthread_cond_wait(&changed, &mutex);
    long item = queue[first];
    first = (first + 1) % ROOM;
    count--;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    return item;
}
static void *produce(void *p) { for (long i = 0; i < ITEMS; i++) put(i); return p; }
static void *consume(void *sum) { for (int i = 0; i < ITEMS; i++) *(long *)sum += get(); return 0; }
static int queued(int here) {
    pthread_t thread;
    long sum = 0;
    pthread_create(&thread, 0, here ? consume : produce, &sum);
    here ? produce(0) : consume(&sum);
    pthread_join(thread, 0);
    return sum != (long)ITEMS * (ITEMS - 1) / 2;
}
static char line[64];
static int data[500];
static pthread_mutex_t ready = PTHREAD_MUTEX_INITIALIZER;
static void *log_line(void *p) {
    pthread_mutex_lock(&ready);
    if (write(1, line, 20) != 20) return p;
    pthread_mutex_unlock(&ready);
    return 0;
}
static int compute(void) {
    for (int i = 0; i < 500; i++) data[i] = i * i;
    int s = 0;
    for (int i = 0; i < 500; i++) s += data[i];
    return s;
}
static void describe(void) { for (int i = 0; i < 20; i++) line[i] = 'a' + i; }
static int logged(int apart) {
    pthread_t thread;
    pthread_mutex_lock(&ready);
    if (apart) pthread_create(&thread, 0, log_line, 0);
    describe();
    int s = compute();
    pthread_mutex_unlock(&ready);
    if (apart) pthread_join(thread, 0);
    return s & 1;
}
static volatile int go, sum;
static const char *how;
static int step(int i) { return sum += i; }
static void *end(void *p) {
    while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE)) usleep(100);
    if (*how == 'e') exit(3);
    if (*how == '_') _exit(4);
    if (*how == 'a') abort();
    return p;
}
int main(int n, char **a) {
    pthread_t thread;
    how = n > 1 ? a[1] : "";
    if (*how == 'q') return queued(how[1] == 'm');
    if (*how == 'l') return logged(how[1] == 't');
    pthread_create(&thread, 0, end, 0);
    pthread_detach(thread);
    for (int i = 0; i < 1000; i++) step(i);
    if (*how == 'm') {
        __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
        pthread_exit(0);
    }
    for (int i = 0; *how; i++) {
        step(i);
        if (i == 1000) __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def modes(tmp_path_factory: pytest.TempPathFactory) -> InstrumentedProgram:
    folder = tmp_path_factory.mktemp("modes")
    return build_program(ProfileOptions((source(folder, MODES),)), folder)


def test_items_of_a_queue_come_from_the_thread_that_put_them(modes: InstrumentedProgram) -> None:
    profile, _ = run_built(modes, ("q",), b"")
    assert (profile.run.exit_status, started(profile)) == (0, {"produce": 1})
    assert calls(profile)["get"] == 5000
    assert calls(profile)["put"] == 0
    [at] = [
        i
        for i, a in enumerate(profile.accesses)
        if (profile.blocks[a.block].function, a.kind, a.size) == ("get", "load", 8)
    ]
    assert sum(profile.accesses[at].hits[0]) == 5000
    assert [(r.source, r.bytes) for r in profile.reads if r.access == at] == [(None, 8 * 5000)]
    assert by_name(profile.transfers)["(threads)", "get"] >= 8 * 5000
    profile, _ = run_built(modes, ("qm",), b"")  # the main thread puts
    assert (profile.run.exit_status, started(profile)) == (0, {"consume": 1})
    assert calls(profile)["put"] == 5000
    assert calls(profile)["get"] == 0
    assert by_name(profile.transfers)["put", "(threads)"] >= 8 * 5000


def test_a_thread_that_only_logs_changes_no_count_of_the_others(
    modes: InstrumentedProgram,
) -> None:
    profile, output = run_built(modes, ("lt",), b"")
    alone, _ = run_built(modes, ("l",), b"")
    assert output == b"abcdefghijklmnopqrst"
    assert started(profile) == {"log_line": 1}
    assert by_name(profile.transfers)["describe", "(threads)"] == 20
    assert alone.threads is None
    assert not [t for t in alone.transfers if "(threads)" in (t.source, t.to)]
    for name in ("compute", "describe"):
        functions = [next(f for f in p.functions if f.name == name) for p in (profile, alone)]
        assert functions[0] == functions[1]
        assert executions(profile, name) == executions(alone, name)


def test_a_detached_thread_may_end_the_program(modes: InstrumentedProgram) -> None:
    for how, complete, status, signal in (
        ("exit", True, 3, None),
        ("_exit", True, 4, None),
        ("abort", False, None, 6),
        ("main", True, 0, None),
        ("", True, 0, None),
    ):
        profile, _ = run_built(modes, (how,) if how else (), b"")
        assert profile.run.complete is complete, how
        assert (profile.run.exit_status, profile.run.signal) == (status, signal), how
        steps = calls(profile)["step"]
        assert steps == 1000 if how in ("main", "") else steps > 1000, how


ALL_IN_ONE = r"""
#include <pthread.h>
static volatile double x;
static void *compute(void *p) { for (int i = 0; i < 10000000; i++) x += i; return p; }
static int setup(int n) { volatile int r = 0; for (int i = 0; i < 100; i++) r += i % n; return r; }
int main(int n, char **a) {
    (void)a;
    pthread_t thread;
    int r = setup(n);
    pthread_create(&thread, 0, compute, 0);
    pthread_join(thread, 0);
    return r & 1;
}
"""


def test_if_a_worker_computes_everything_all_answers_begin_with_it(tmp_path: Path) -> None:
    path, target = source(tmp_path, ALL_IN_ONE), tmp_path / "p.json"
    done = called("profile", str(path), "--no-libraries", "-o", str(target), cwd=tmp_path)
    assert done.returncode == 0
    first = next(line for line in done.stderr.splitlines() if "could call" not in line)
    assert first.startswith("most of the program is not in this profile: 9")
    assert "CPU time is in 1 other thread (compute)" in first
    profile = Profile.load(target)
    assert profile.threads is not None
    assert profile.threads.cpu_fraction is not None
    assert profile.threads.cpu_fraction > 0.9
    assert "Most of the program is not in this profile" in page(profile)
    draft = from_profile(tmp_path / "s.toml", target, None).text
    assert draft.startswith("# Most of the program is not in this profile: 9")
    assert 'about = "Most of the program is not in this profile' in draft
    assert "of the profiled thread's time with all that it calls" in draft
    assert "% of the time with" not in draft
    few = profile.threads.model_copy(update={"cpu_fraction": 0.13})
    profile.model_copy(update={"threads": few}).save(tmp_path / "few.json")
    for question in ("communication", "partition"):
        check_a_few_threads(tmp_path / "few.json", question)


def check_a_few_threads(target: Path, question: str) -> None:
    """Look for the few other threads in the draft and in the answer."""
    study = target.with_name("s.toml")
    draft = from_profile(study, target, question).text
    first, *lines = draft.splitlines()
    assert "thread" not in first
    assert "# The profile does not contain 1 other thread (compute), with 13 % of" in draft
    assert "# All times and speedups are of the profiled thread." in lines
    assert "# of the profiled thread" in next(x for x in lines if x.startswith("maximize"))
    study.write_text(draft)
    verdict = dse.load(study).run().answer().verdict
    assert "the profile does not contain 1 other thread (compute), with 13 % of" in verdict


def test_a_main_that_only_joins_has_no_draft(tmp_path: Path) -> None:
    text = ALL_IN_ONE.replace("int r = setup(n);", "int r = n;").replace("10000000", "10")
    profile, target = profile_text(tmp_path, text), tmp_path / "p.json"
    assert profile.threads is not None
    most = profile.threads.model_copy(update={"cpu_fraction": 0.99})
    profile.model_copy(update={"threads": most}).save(target)
    for question in (None, "partition"):
        with pytest.raises(InputError) as caught:
            from_profile(tmp_path / "s.toml", target, question)
        [problem] = caught.value.problems
        assert problem.message.startswith("most of the program is not in this profile")
        assert problem.remedy == "profile a run in which the thread of main does the work"


CXX = r"""
#include <cstdio>
#include <stdexcept>
#include <thread>
static int thrown;
static void raise_error(int k) { if (k > 2) throw std::runtime_error("large"); }
static void work(int k) {
    try { raise_error(k); } catch (const std::exception &) { thrown += k; }
}
int main() {
    work(3);
    std::thread one(work, 4);
    one.join();
    std::thread two([] { work(5); });
    two.join();
    std::printf("%d\n", thrown);
}
"""


def test_threads_of_cxx_are_named_by_their_first_function_in_the_source(tmp_path: Path) -> None:
    path = source(tmp_path, CXX, "program.cpp")
    built = build_program(ProfileOptions((path,)), tmp_path)
    profile, output = run_built(built, (), b"")
    assert output == b"12\n"
    assert started(profile) == {"work(int)": 1, "main::$_0::operator()() const": 1}
    assert calls(profile)["raise_error(int)"] == 1
    assert by_name(profile.transfers)["(threads)", "main"] == 4  # the value of `thrown`


LIBRARY = r"""
#include <pthread.h>
static void *call(void *function) { ((void (*)(void))function)(); return 0; }
void run_apart(void (*function)(void)) {
    pthread_t thread;
    pthread_create(&thread, 0, call, (void *)function);
    pthread_join(thread, 0);
}
static void *nothing(void *p) { return p; }
void run_nothing(void) { pthread_t t; pthread_create(&t, 0, nothing, 0); pthread_join(t, 0); }
"""


def test_threads_of_a_library_may_not_call_the_program(tmp_path: Path) -> None:
    library, compiler = tmp_path / "libapart.so", find_toolchain().c
    command = [*compiler, "-O1", "-fno-sanitize=all", "-shared", "-fPIC", "-o", str(library)]
    subprocess.run([*command, str(source(tmp_path, LIBRARY, "apart.c"))], check=True)
    text = """
    void run_apart(void (*function)(void));
    void run_nothing(void);
    static int sum;
    static void work(void) { sum++; }
    int main(int n, char **a) {
        (void)a; work(); n > 1 ? run_apart(work) : run_nothing();
        return sum;
    }
    """
    flags = (str(library), f"-Wl,-rpath,{tmp_path}")
    options = ProfileOptions((source(tmp_path, text),), link_flags=flags)
    (tmp_path / "built").mkdir()
    built = build_program(options, tmp_path / "built")
    profile, _ = run_built(built, (), b"")
    assert (profile.run.exit_status, calls(profile)["work"]) == (1, 1)
    with pytest.raises(InputError, match="a thread that a library started called work"):
        run_built(built, ("apart",), b"")


def test_a_region_and_critical_paths_of_a_program_with_threads(tmp_path: Path) -> None:
    path = source(tmp_path, WORKERS)
    profile = profile_program(
        ProfileOptions((path,), region="work", critical_paths=True, libraries=False),
        stdout=subprocess.DEVNULL,
    )
    assert {name for name, count in calls(profile).items() if count} == {"work"}
    assert calls(profile)["work"] == 1
    assert started(profile)["work"] == 3
    assert "critical paths were not measured: the program has several threads" in profile.notes


def test_openmp_is_refused(tmp_path: Path) -> None:
    path = source(
        tmp_path,
        """
        int main(void) {
            int s = 0;
            #pragma omp parallel for reduction(+ : s)
            for (int i = 0; i < 100; i++) s += i;
            return s & 1;
        }""",
    )
    with pytest.raises(InputError, match="threads of OpenMP"):
        build_program(ProfileOptions((path,), flags=("-fopenmp",)), tmp_path)
