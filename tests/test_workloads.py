"""The six workloads compute what they claim, and their profiles are those in the repository."""

from __future__ import annotations

import hashlib
import io
import subprocess
from pathlib import Path

import numpy as np
import pytest

from dse.profile import Profile
from dse.profile.build.toolchain import find_toolchain
from tests.docs.pages import load_script
from tests.needs import needs
from tests.profile.examples import needs_compiler

STUDIES = Path(__file__).parents[1] / "studies"
PROGRAMS, PROFILES = STUDIES / "programs", STUDIES / "profiles"
NAMES = ("aes", "fft", "jpeg", "md5", "sor", "whetstone")


MAKE = load_script("studies/profiles/make.py")
pytestmark = needs_compiler


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plain")


def run(program: Path, *arguments: str, given: bytes = b"") -> bytes:
    done = subprocess.run([program, *arguments], input=given, capture_output=True, check=True)
    return done.stdout


def built(name: str, folder: Path) -> Path:
    program = folder / f"{name}-plain"
    return program if program.exists() else Path(MAKE.build_plainly(name, folder))


# ── Known answers ────────────────────────────────────────────────────────────


def test_md5_against_another_library(folder: Path) -> None:
    for length in (0, 1, 55, 56, 63, 64, 119, 120, 100_000):
        message = bytes((7 * i + i // 256) % 256 for i in range(length))
        said = run(built("md5", folder), str(length)).decode().split()
        assert said == [hashlib.md5(message, usedforsecurity=False).hexdigest(), "right"]


def random_bytes(count: int) -> bytes:
    """Return the message of aes.c."""
    state, message = 1, bytearray()
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        message.append(state >> 24)
    return bytes(message)


def test_aes_against_openssl(folder: Path) -> None:
    needs("openssl")
    key, start = bytes(range(16)).hex(), bytes(16).hex()
    command = ["openssl", "enc", "-aes-128-cbc", "-nopad", "-K", key, "-iv", start]
    for blocks in (1, 2, 300):
        given = random_bytes(16 * blocks)
        done = subprocess.run(command, input=given, capture_output=True, check=True)
        said = run(built("aes", folder), str(blocks)).decode().split()
        assert said == ["last", "block", done.stdout[-16:].hex(), "right"]


@pytest.mark.parametrize(("mode", "size"), [("RGB", (37, 21)), ("L", (40, 33))])
def test_jpeg_reads_what_another_library_writes(
    folder: Path, mode: str, size: tuple[int, int]
) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow writes the pictures")
    pixels = np.random.default_rng(1).integers(0, 256, (size[1] // 4, size[0] // 4, 3), np.uint8)
    picture = image.fromarray(pixels).resize(size).convert(mode)
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=90, **({"subsampling": 0} if mode == "RGB" else {}))
    ours = run(built("jpeg", folder), given=stream.getvalue())
    decoded = [
        np.asarray(image.open(io.BytesIO(x)).convert("RGB"), int) for x in (stream.getvalue(), ours)
    ]
    assert decoded[0].shape == decoded[1].shape == (size[1], size[0], 3)
    assert np.abs(decoded[0] - decoded[1]).max() <= 3  # inverse transforms may round differently


@pytest.mark.parametrize("size", [("50", "30"), ("320", "240")])
def test_jpeg_gives_the_picture_that_was_encoded(folder: Path, size: tuple[str, str]) -> None:
    stream = run(built("jpeg_encoder", folder), *size, "0")
    said = run(built("jpeg", folder), "check", given=stream).decode()
    assert said.startswith(f"{size[0]} x {size[1]}, mean error")
    image = pytest.importorskip("PIL.Image", reason="Pillow reads the stream")
    theirs = np.asarray(image.open(io.BytesIO(stream)).convert("RGB"), float)
    ours = np.asarray(image.open(io.BytesIO(run(built("jpeg", folder), given=stream))), float)
    # they interpolate the colours that have half the resolution: brightness and means agree
    weights = [0.299, 0.587, 0.114]
    assert np.abs((theirs - ours) @ weights).mean() < 2
    assert np.abs((theirs - ours).mean(axis=(0, 1))).max() < 2


def test_jpeg_refuses(folder: Path) -> None:
    whole = run(built("jpeg_encoder", folder), "40", "40")
    for stream, why in (
        (b"", "the stream ends early"),
        (b"P6 1 1 255\n", "no JPEG stream"),
        (b"\xff\xd8\xff\xc2\x00\x02", "only baseline streams"),
        (whole[: len(whole) // 2], ""),
    ):
        done = subprocess.run([built("jpeg", folder)], input=stream, capture_output=True)
        assert (done.returncode, done.stdout) == (1, b"")
        assert why in done.stderr.decode()


def test_numerical_workloads_are_right(folder: Path) -> None:
    assert run(built("fft", folder), "512").decode().strip() == "error below 1e-09"
    assert run(built("whetstone", folder), "20").decode().strip() == "right"


def test_over_relaxation_takes_the_sweeps_of_its_recurrence(folder: Path) -> None:
    side = 32
    factor = 2 / (1 + np.sin(np.pi / (side - 1)))
    u = [[float(x * x - y * y) for x in range(side)] for y in range(side)]
    for row in u[1:-1]:
        row[1:-1] = [0.0] * (side - 2)
    sweeps, change = 0, 1.0
    while change > 1e-11 * side * side:
        sweeps, change = sweeps + 1, 0.0
        for y in range(1, side - 1):
            for x in range(1, side - 1):
                mean = 0.25 * (u[y][x - 1] + u[y][x + 1] + u[y - 1][x] + u[y + 1][x])
                step = factor * (mean - u[y][x])
                u[y][x] += step
                change = max(change, abs(step))
    assert run(built("sor", folder), str(side)).decode() == f"{sweeps} sweeps\nright\n"


MISTAKES = {  # one wrong constant each
    "aes": ("q ^= 9", "q ^= 11"),
    "fft": ("im[b] = im[a] - m", "im[b] = im[a] + m"),
    "md5": ("0xefcdab89", "0xefcdab88"),
    "sor": ("0.25 * (row", "0.26 * (row"),
    "whetstone": ("turned = 0.8 * x - 0.6 * y", "turned = 0.8 * x - 0.5 * y"),
}


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_a_workload_notices_a_mistake(tmp_path: Path, name: str) -> None:
    text = (PROGRAMS / f"{name}.c").read_text()
    right, wrong = MISTAKES[name]
    assert right in text
    (tmp_path / "wrong.c").write_text(text.replace(right, wrong))
    program = tmp_path / "wrong"
    command = [*find_toolchain().c, "-O1", "-fno-sanitize=all", str(tmp_path / "wrong.c")]
    subprocess.run([*command, "-o", str(program), "-lm"], check=True, capture_output=True)
    assert subprocess.run([program], capture_output=True, check=False).returncode == 1


# ── Profiles ─────────────────────────────────────────────────────────────────


def test_there_is_a_profile_of_each_workload_and_no_other() -> None:
    assert {path.stem for path in PROFILES.glob("*.json")} == set(NAMES) == set(MAKE.WORKLOADS)


@pytest.mark.parametrize("name", NAMES)
def test_profiles_are_complete_and_small(name: str) -> None:
    path = PROFILES / f"{name}.json"
    profile = Profile.load(path)
    assert profile.run.complete
    assert profile.unaccounted.bytes == 0
    assert path.stat().st_size < 300_000
    assert profile.program.sources == (f"{name}.c",)


def test_a_profile_is_made_again_the_same() -> None:
    """Not that of md5: what is mapped for its text stands where the system's loader left room."""
    again = MAKE.profile_workload("aes")
    kept = Profile.load(PROFILES / "aes.json")
    if again.program.compiler != kept.program.compiler or not again.run.addresses_fixed:
        pytest.skip(f"{again.program.compiler} or addresses differ from the profile's")
    assert again.dumps() == kept.dumps()


def test_the_decoder_has_a_call_tree_to_partition() -> None:
    profile = Profile.load(PROFILES / "jpeg.json")
    names = [context.function for context in profile.call_tree]
    calls = {
        (names[c.parent], c.function): c.invocations for c in profile.call_tree if c.parent >= 0
    }
    blocks = 20 * 15 * 6  # units of 16 × 16 pixels, six blocks each
    assert calls["decode_unit", "decode_block"] == calls["decode_unit", "idct"] == blocks
    assert calls["idct", "idct_1d"] == 16 * blocks
    assert calls["colour_conversion", "convert_row"] == 240
    assert calls["decode_block", "get_symbol"] > 2 * blocks
    assert len({f.name for f in profile.functions if not f.foreign and f.invocations}) >= 15
