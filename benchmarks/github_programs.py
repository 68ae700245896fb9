"""Programs of public repositories: their commits, how each is built, and their inputs."""

from __future__ import annotations

import gzip
import random
from dataclasses import dataclass

from benchmarks.debian_programs import JSON, TEXT, Package

_DRAW = random.Random(5)  # noqa: S311
READS = b"".join(
    b">%d\n%s\n" % (i, bytes(_DRAW.choice(b"ACGT") for _ in range(400))) for i in range(100)
)
UNICODE = "Ångström — ﬁne ½ naïve Ⅷ Привет ÉÈ 한국어\n".encode() * 400
FUNCTIONS = b"".join(
    b"int f%d(int x) { int y = x * %d; for (int i = 0; i < x; i++) y += i %% 7; return y; }\n"
    % (i, i)
    for i in range(150)
)


@dataclass(frozen=True)
class Snapshot:
    """A program of a commit of a public repository, and of other repositories that it needs."""

    repository: str
    commit: str
    package: Package
    needs: tuple[str, ...] = ()


def _built(sources: str, program: str, given: bytes | str = TEXT, *arguments: str) -> Package:
    return Package("{cc} -O2 -w " + f"{sources} -o {program}", program, arguments, given, own=False)


_PNG = (
    "png.c pngerror.c pngget.c pngmem.c pngpread.c pngread.c pngrio.c pngrtran.c pngrutil.c "
    "pngset.c pngsimd.c pngtrans.c pngwio.c pngwrite.c pngwtran.c pngwutil.c "
    "../zlib/adler32.c ../zlib/compress.c ../zlib/crc32.c ../zlib/deflate.c ../zlib/inffast.c "
    "../zlib/inflate.c ../zlib/inftrees.c ../zlib/trees.c ../zlib/zutil.c "
)
_BWA = (
    "utils.c kthread.c kstring.c ksw.c bwt.c bntseq.c bwa.c bwamem.c bwamem_pair.c "
    "bwamem_extra.c malloc_wrap.c QSufSort.c bwt_gen.c rope.c rle.c is.c bwtindex.c bwashm.c "
    "bwase.c bwaseqio.c bwtgap.c bwtaln.c bamlite.c bwape.c kopen.c pemerge.c maxk.c "
    "bwtsw2_core.c bwtsw2_main.c bwtsw2_aux.c bwt_lite.c bwtsw2_chain.c fastmap.c "
    "bwtsw2_pair.c main.c "
)

SNAPSHOTS = {
    "bwa": Snapshot(
        "lh3/bwa",
        "91fb301a50e64afee7653d312a9487c2ba0d452e",
        Package(
            "{cc} -O2 -w " + _BWA + "-o bwa -lm -lz -lpthread && "
            "cp {given} reads.fa && ./bwa index reads.fa",
            "bwa",
            ("fastmap", "{source}/reads.fa", "/dev/stdin"),
            READS,
            own=False,
        ),
    ),
    "libpng": Snapshot(
        "pnggroup/libpng",
        "d1d0abeffede1cc898ddc3d0e600839cf026d749",
        Package(
            "cp pnglibconf.h.prebuilt pnglibconf.h && {cc} -O2 -w -I. -I../zlib {drivers}/png.c "
            + _PNG
            + "-o png -lm",
            "png",
            (),
            b"",
            own=False,
        ),
        ("zlib",),
    ),
    "brotli": Snapshot(
        "google/brotli",
        "8e10eeb3378f6c459dbaf033ca6727e9816afccb",
        _built(
            "-Ic/include c/common/*.c c/dec/*.c c/enc/*.c c/tools/brotli.c -lm",
            "brotli.out",
            TEXT,
            *("-c", "-q", "5", "-"),
        ),
    ),
    "zlib": Snapshot(
        "madler/zlib",
        "d201f04c72b0881220f5ba75ca19fd0e19fa848b",
        _built("-DHAVE_UNISTD_H -I. *.c test/minigzip.c", "minigzip", TEXT, "-c"),
    ),
    "miniz": Snapshot(
        "richgel999/miniz",
        "e78dfd22d0a9521d1b8019f3642357b59d1261fb",
        Package(
            "echo '#define MINIZ_EXPORT' > miniz_export.h && {cc} -O2 -w -I. {drivers}/miniz.c "
            "-DMINIZ_NO_ARCHIVE_APIS miniz.c miniz_tdef.c miniz_tinfl.c -o packer",
            "packer",
            (),
            TEXT,
            own=False,
        ),
    ),
    "libdeflate": Snapshot(
        "ebiggers/libdeflate",
        "28e88e9c6f6c197594753e7c9139e8a70c1a7b89",
        Package(  # valgrind's processor lacks VPCLMULQDQ and AVX-512, by which it chooses a CRC
            "sed -i -e 's/c & (1 << 10)/0/' -e 's/(os_supports_avx512(xcr0))/(0)/' "
            "lib/x86/cpu_features.c && "
            "{cc} -O2 -w -I. {drivers}/libdeflate.c lib/*.c lib/x86/*.c -o packer",
            "packer",
            (),
            TEXT,
            own=False,
        ),
    ),
    "heatshrink": Snapshot(
        "atomicobject/heatshrink",
        "7d419e1fa4830d0b919b9b6a91fe2fb786cf3280",
        _built(
            "heatshrink.c heatshrink_encoder.c heatshrink_decoder.c",
            "heatshrink",
            TEXT[:60000],
            "-e",
        ),
    ),
    "tinf": Snapshot(
        "jibsen/tinf",
        "57ffa1f1d5e3dde19011b2127bd26d01689b694b",
        _built("-Isrc {drivers}/tinf.c src/*.c", "unpacker", gzip.compress(TEXT, mtime=0)),
    ),
    "FiniteStateEntropy": Snapshot(
        "Cyan4973/FiniteStateEntropy",
        "9f30e0918f87bd835fa040d922a208d7b219e50b",
        _built(
            "-Ilib {drivers}/fse.c lib/debug.c lib/entropy_common.c lib/fse_compress.c "
            "lib/fse_decompress.c lib/hist.c lib/huf_compress.c lib/huf_decompress.c",
            "packer",
        ),
    ),
    "qoi": Snapshot(
        "phoboslab/qoi",
        "e084ec009b38c755acc40fe31d3f83ee17935b9d",
        _built("-I. {drivers}/qoi.c", "converter", b""),
    ),
    "lodepng": Snapshot(
        "lvandeve/lodepng",
        "865adac2b8149774401626101ec618e3de45e1d8",
        _built("-I. {drivers}/lodepng.c -x c lodepng.cpp", "converter", b""),
    ),
    "kissfft": Snapshot(
        "mborgerding/kissfft",
        "6e9e673e420c4bf47d4a60c57c578f93e4ec192f",
        _built("-I. {drivers}/fft.c kiss_fft.c -lm", "transform", b""),
    ),
    "minimp3": Snapshot(
        "lieff/minimp3",
        "7b590fdcfa5a79c033e76eacc05d0c3e4c79f536",
        _built("-I. {drivers}/mp3.c -lm", "decoder", "vectors/M2L3_bitrate_24_all.bit"),
    ),
    "tinyexpr": Snapshot(
        "codeplea/tinyexpr",
        "9907207e5def0fabdb60c443517b0d9e9d521393",
        _built("-I. {drivers}/expression.c tinyexpr.c -lm", "evaluator", b""),
    ),
    "jsmn": Snapshot(
        "zserge/jsmn",
        "25647e692c7906b96ffd2b05ca54c097948e879c",
        _built("-I. example/jsondump.c", "jsondump", JSON),
    ),
    "utf8proc": Snapshot(
        "JuliaStrings/utf8proc",
        "26dbf597ffa8167ef5edcc7f2da905500a5aa3c2",
        _built("-I. -DUTF8PROC_STATIC {drivers}/normal.c utf8proc.c", "normal", UNICODE),
    ),
    "chibicc": Snapshot(
        "rui314/chibicc",
        "90d1f7f199cc55b13c7fdb5839d1409806633fdb",
        _built(
            "*.c",
            "compiler",
            FUNCTIONS,
            *("-cc1", "-cc1-input", "/dev/stdin", "-cc1-output", "-", "x.c"),
        ),
    ),
    "tiny-AES-c": Snapshot(
        "kokke/tiny-AES-c",
        "23856752fbd139da0b8ca6e471a13d5bcc99a08d",
        _built("-I. {drivers}/aes.c aes.c", "cipher", TEXT),
    ),
    "BLAKE3": Snapshot(
        "BLAKE3-team/BLAKE3",
        "77b257eee7da5cd608eaf6be8343d3a4c9776af2",
        _built(
            "-DBLAKE3_NO_SSE2 -DBLAKE3_NO_SSE41 -DBLAKE3_NO_AVX2 -DBLAKE3_NO_AVX512 -Ic "
            "c/example.c c/blake3.c c/blake3_dispatch.c c/blake3_portable.c",
            "hash",
        ),
    ),
    "Monocypher": Snapshot(
        "LoupVaillant/Monocypher",
        "ab2b16dd619ad5f6979a4fbe69cfa324a6fcc35f",
        _built("-Isrc {drivers}/monocypher.c src/monocypher.c", "cipher"),
    ),
    "seqtk": Snapshot(
        "lh3/seqtk",
        "94e707082d39b0a038f234df676e32d9802c0dc7",
        _built("seqtk.c -lz -lm", "seqtk", READS, "comp", "/dev/stdin"),
    ),
}
