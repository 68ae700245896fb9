"""Programs of Debian's source packages: how each is built, and what it gets."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

DRIVERS = Path(__file__).parent / "drivers"

LUA = b"""
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local t = {} for i = 1, 90 do t[i] = (i * 7919) % 1000 end table.sort(t)
print(fib(16), t[1], t[#t], ("the quick brown fox"):gsub("%a+", string.upper))
"""
SCRIPT = b"""
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
var t = []; for (var i = 0; i < 300; i++) t.push((i * 7919) % 1000);
t.sort(); print(fib(14) + " " + t[0] + " " + t.length + " " + "a quick fox".toUpperCase());
"""
SCHEME = b"""
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(display (fib 14)) (newline) (quit)
"""
SQL = b"""create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 800)
insert into t select i, 'row ' || (i * 37 % 101) from n;
create index x on t(b);
select b, count(*), sum(a) from t group by b order by 3 desc limit 5;
update t set b = upper(b) where a % 3 = 0; delete from t where a % 7 = 1;
select count(*), max(length(b)) from t where b like 'ROW 5%';
"""
XML = b"<r>" + b"".join(b'<a i="%d">t &amp; %d</a>' % (i, i * i) for i in range(1500)) + b"</r>"
JSON = b"[" + b",".join(b'{"a": %d, "b": [%d.5, "x\\n"]}' % (i, i) for i in range(900)) + b"]"
YAML = b"".join(b"key%d: [a, %d, {b: 'c %d'}]\n" % (i, i, i) for i in range(300))
TEXT = b"".join(b"%d bottles of %d on the wall\n" % (i, i * i % 97) for i in range(4000))
MARKS = b"# Head\n\n" + b"A *word*, `code`, [link](x).\n\n- one\n- two\n\n> said\n\n" * 150
AWK = """
{ n[$3] += $1; for (i = NF; i; i--) w = w substr($i, 1, 1) }
END { for (k = 0; k < 97; k++) s += n[k] * k; print s, length(w) }
"""
BC = b"scale=60\nf=1\nfor (i=1;i<120;i++) f*=i\nf\n4*a(1)\nsqrt(2)\n"
CNF = b"p cnf 60 236\n" + b"".join(
    b"%d %d %d 0\n"
    % tuple(
        (1 if (i * 7 + k * 5) % 3 else -1) * (1 + (i * i * (k + 3) + 11 * k + i) % 60)
        for k in range(3)
    )
    for i in range(236)
)


_DRAW = random.Random(3)  # noqa: S311
HARD_CNF = b"p cnf 110 460\n" + b"".join(
    b"%d %d %d 0\n" % tuple(_DRAW.choice((-1, 1)) * v for v in _DRAW.sample(range(1, 111), 3))
    for _ in range(460)
)


@dataclass(frozen=True)
class Package:
    """How a package is built, which program it makes, and what that gets.

    ``given`` is its input; if it is a text, that of a file of the package. ``own`` says that the
    package's own makefiles build it.
    """

    build: str
    program: str
    arguments: tuple[str, ...]
    given: bytes | str
    own: bool = True


def _cmake(folder: str, target: str, *options: str) -> str:
    options = (
        "CMAKE_BUILD_TYPE=Release",
        "CMAKE_POLICY_VERSION_MINIMUM=3.5",
        "CMAKE_C_COMPILER={one}",
        "CMAKE_CXX_COMPILER={onexx}",
        "BUILD_SHARED_LIBS=OFF",
        *options,
    )
    given = " ".join(f"-D{each}" for each in options)
    return f"cmake -S {folder} -B out {given} && cmake --build out --target {target}"


PACKAGES = {
    "bzip2": Package("make CC='{cc}' bzip2", "bzip2", ("-c",), TEXT),
    "zlib": Package("CC='{cc}' ./configure && make minigzip", "minigzip", ("-c",), TEXT),
    "gzip": Package("./configure && make CC='{cc}'", "gzip", ("-cn",), TEXT),  # no time stamp
    "lz4": Package("make -C programs CC='{cc}' lz4", "programs/lz4", ("-c", "-9"), TEXT),
    "zopfli": Package(
        "make CC='{cc}' zopfli", "zopfli", ("-c", "--i1", "/dev/stdin"), TEXT[:20000]
    ),
    "lzip": Package("./configure && make CXX='{cxx}'", "lzip", ("-c",), TEXT[:60000]),
    "sqlite3": Package(
        "CFLAGS=-O1 ./configure --disable-tcl --disable-readline --disable-threadsafe "
        "--disable-load-extension && make CC='{cc}' sqlite3",
        "sqlite3",
        ("-batch",),
        SQL,
    ),
    "lua5.4": Package(  # it hashes by address: calls would differ where addresses do
        "sed -i 's/(size_t)(p) & UINT_MAX/0/' src/llimits.h && "
        """make -C src CC='{cc}' MYCFLAGS="-D'luai_makeseed(L)=7'" lua""",
        "src/lua",
        ("-",),
        LUA,
    ),
    "mujs": Package(
        "make CC='{cc}' HAVE_READLINE=no build/release/mujs",
        "build/release/mujs",
        ("/dev/stdin",),
        SCRIPT,
    ),
    "duktape": Package(  # its sort draws pivots from the clock: calls would differ from run to run
        "make -f Makefile.cmdline CC='{cc}'",
        "duk",
        ("/dev/stdin",),
        SCRIPT.replace(b"t.sort()", b"t.reverse()"),
    ),
    "tinyscheme": Package("make CC='{cc}' scheme", "scheme", ("/dev/stdin",), SCHEME),
    "mawk": Package(  # the clock is its seed if it is given none
        "./configure && make CC='{cc}' mawk", "mawk", ("-Wrandom=7", AWK), TEXT
    ),
    "bc": Package(
        "./configure && make -C lib CC='{cc}' && make -C bc CC='{cc}'", "bc/bc", ("-lq",), BC
    ),
    "expat": Package(
        _cmake("expat", "xmlwf", "EXPAT_BUILD_DOCS=OFF", "EXPAT_BUILD_TESTS=OFF"),
        "out/xmlwf/xmlwf",
        ("-c", "/dev/stdin"),
        XML,
    ),
    "libyaml": Package(_cmake(".", "run-parser"), "out/run-parser", ("/dev/stdin",), YAML),
    "cmark": Package(
        _cmake(".", "cmark_exe", "CMARK_TESTS=OFF", "CMARK_SHARED=OFF"), "out/src/cmark", (), MARKS
    ),
    "md4c": Package(_cmake(".", "md2html"), "out/md2html/md2html", (), MARKS),
    "cjson": Package(
        "{cc} -O2 -I. {drivers}/cjson.c cJSON.c -o reader -lm", "reader", (), JSON, own=False
    ),
    "libjpeg-turbo": Package(
        _cmake(".", "djpeg-static", "WITH_SIMD=0", "ENABLE_SHARED=0"),
        "out/djpeg-static",
        ("-ppm",),
        "testimages/testorig.jpg",
    ),
    "libtomcrypt": Package(
        "make CC='{cc}' CFLAGS='-O2 -DLTC_NO_ASM -DLTC_NO_TEST' -f makefile.unix libtomcrypt.a && "
        "{cc} -O2 -Isrc/headers {drivers}/ciphers.c libtomcrypt.a -o ciphers",
        "ciphers",
        (),
        TEXT[:50000],
    ),
    "xxhash": Package("make CC='{cc}' CFLAGS=-O2 xxhsum", "xxhsum", ("-H1",), TEXT),
    "tinyxml2": Package(
        "{cxx} -O2 -I. {drivers}/tinyxml2.cpp tinyxml2.cpp -o reader", "reader", (), XML, own=False
    ),
    "pugixml": Package(
        "{cxx} -O2 -Isrc {drivers}/pugixml.cpp src/pugixml.cpp -o reader",
        "reader",
        (),
        XML,
        own=False,
    ),
    "libb64": Package(
        "{cc} -O2 -Iinclude -c src/cencode.c && "
        "{cxx} -O2 -Iinclude -DBUFFERSIZE=4096 {drivers}/libb64.cc cencode.o -o encoder",
        "encoder",
        (),
        TEXT[:30000],
        own=False,
    ),
    "minisat2": Package(
        "cd minisat/core && "  # a default argument stands where no compiler of today takes it
        "sed -i -e '/friend Lit mkLit/s/ = false//' "
        "-e '/^inline  Lit  mkLit/s/bool sign/& = false/' SolverTypes.h && "
        "{cxx} -O2 -w -Wno-reserved-user-defined-literal -std=c++98 "
        "-D__STDC_LIMIT_MACROS -D__STDC_FORMAT_MACROS -I../.. Main.cc Solver.cc "
        "../utils/Options.cc ../utils/System.cc -o ../../minisat2 -lz",
        "minisat2",
        ("-verb=0",),
        CNF,
        own=False,
    ),
    "libstb": Package(
        "{cc} -O2 -I. {drivers}/stb.c -o decoder -lm",
        "decoder",
        (),
        "tests/sdf/sdf_test_arial_16.png",
        own=False,
    ),
    "lzo2": Package(
        "{cc} -O2 -w -Iinclude -Isrc {drivers}/lzo.c src/*.c -o packer",
        "packer",
        (),
        TEXT * 2,
        own=False,
    ),
    "picosat": Package(
        "CC='{cc}' ./configure.sh && make CC='{cc}' picosat", "picosat", (), HARD_CNF
    ),
    "libzstd": Package(
        "make -C programs CC='{cc}' HAVE_THREAD=0 ZSTD_NO_ASM=1 zstd-nolegacy",
        "programs/zstd-nolegacy",
        ("-c",),
        TEXT,
    ),
    "giflib": Package(
        "{cc} -O2 -w -I. gif2rgb.c getarg.c qprintf.c quantize.c dgif_lib.c egif_lib.c gif_err.c "
        "gif_font.c gif_hash.c gifalloc.c openbsd-reallocarray.c -o gif2rgb -lm",
        "gif2rgb",
        ("-1", "-o", "/dev/stdout"),
        "pic/porsche.gif",
        own=False,
    ),
}
