"""Profile ``studies/programs/rotate.c`` at seven sizes: ``python studies/profiles/rotate.py``.

Writes ``rotate/iterative-NNN.json`` and ``rotate/recursive-NNN.json``, NNN pixels a side, with what
the models of functions read: edges, registers, accesses and reads are left out.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from dse.profile import Profile, ProfileOptions
from dse.profile.command import InstrumentedProgram, build_program, measure_program

PROGRAMS = Path(__file__).parents[1] / "programs"
SOURCES = (PROGRAMS / "rotate.c", PROGRAMS / "characters.c")
FOLDER = Path(__file__).with_name("rotate")
SIDES = (8, 16, 32, 64, 128, 256, 512)
WAYS = {"iterative": "i", "recursive": "r"}


def picture(side: int) -> bytes:
    """Return a square picture by formula, 3 bytes a pixel; its header is as long at every size."""
    pixels = bytes((7 * i + i // 5) % 256 for i in range(3 * side * side))
    return b"P6 %03d %03d 255\n" % (side, side) + pixels


def functions_alone(profile: Profile) -> Profile:
    """Leave out what only the models of blocks need, and classes without instructions."""
    blocks = tuple(
        block.model_copy(
            update={"instructions": {k: n for k, n in block.instructions.items() if n}}
        )
        for block in profile.blocks
    )
    emptied = dict.fromkeys(("edges", "registers", "accesses", "reads", "crossings"), ())
    return profile.model_copy(update={"blocks": blocks, **emptied})


def profile_at(built: InstrumentedProgram, way: str, side: int, folder: Path) -> Profile:
    """Run the built program on the picture of that side."""
    given = folder / "picture.ppm"
    given.write_bytes(picture(side))
    with given.open("rb") as stdin, (folder / "turned.ppm").open("wb") as stdout:
        return functions_alone(measure_program(built, (WAYS[way],), stdin, stdout))


def main() -> None:
    """Write all profiles."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built = build_program(ProfileOptions(SOURCES, caches=()), folder)
        for way in WAYS:
            for side in SIDES:
                profile_at(built, way, side, folder).save(FOLDER / f"{way}-{side:03}.json")


if __name__ == "__main__":
    main()
