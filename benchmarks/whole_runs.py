"""CPU seconds of whole runs of the studies in `benchmarks/studies`, next to another checkout.

    python -m benchmarks.whole_runs [STUDY ...] [--runs N] [--against CHECKOUT]

The studies are frozen copies, so that later versions of the shipped studies leave the numbers
comparable. Each run is a fresh process of `dse run`; runs of the two checkouts take turns, and the
ratio is taken pair by pair. The digest covers the rows of front.csv without their header: equal
digests mean equal fronts.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
STUDIES = Path(__file__).parent / "studies"


def run_study(checkout: Path, study: Path) -> tuple[float, str]:
    """Return the CPU seconds of a run by the code of a checkout, and the digest of its front."""
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "dse", "run", study, "--out", Path(folder) / "run"]
        environment = {**os.environ, "PYTHONPATH": str(checkout)}
        done = subprocess.run(  # noqa: S603 - the command is ours
            [*map(str, command), "--quiet"], cwd=checkout, env=environment, capture_output=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise SystemExit(f"{study.name} in {checkout}: {done.stderr.decode()[-2000:]}")
        _, rows = (Path(folder) / "run" / "front.csv").read_bytes().split(b"\n", 1)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, hashlib.sha256(rows).hexdigest()[:12]


def study_in(checkout: Path, name: str) -> Path:
    """Return the study of a checkout: the frozen copy, or the shipped one of an older checkout."""
    frozen = checkout / "benchmarks" / "studies" / f"{name}.toml"
    return frozen if frozen.is_file() else checkout / "studies" / f"{name}.toml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    names = sorted(path.stem for path in STUDIES.glob("*.toml"))
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=", ".join(names))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--against", type=Path, help="the other checkout")
    given = parser.parse_args()
    for name in given.studies or names:
        here, there, ratios = [], [], []
        digests: list[str] = []
        for _ in range(given.runs):
            seconds, digest = run_study(ROOT, study_in(ROOT, name))
            here.append(seconds)
            digests.append(digest)
            if given.against is not None:
                other = given.against.resolve()
                seconds, digest = run_study(other, study_in(other, name))
                there.append(seconds)
                digests.append(digest)
                ratios.append(here[-1] / seconds)
        line = f"{name:16} {statistics.median(here):7.2f} s"
        if there:
            ratio = statistics.median(ratios)
            line += f"  there {statistics.median(there):7.2f} s  ratio {ratio:5.2f}"
        fronts = "fronts equal" if len(set(digests)) == 1 else f"fronts differ: {digests}"
        print(f"{line}  {fronts} {digests[0]}", flush=True)


if __name__ == "__main__":
    main()
