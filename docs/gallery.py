"""Write docs/gallery: a card, a picture of the front and the answers of each shipped study.

Run with ``python docs/gallery.py``; needs matplotlib (the ``bench`` group). It runs every study,
which takes four minutes. A build of the site runs none. ``studies.json`` keeps a digest of each
study and its files; a test says when a picture is older than its study.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import dse
from dse.result.record import Result

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "gallery"
STUDIES = sorted((ROOT / "studies").glob("*.toml"))
ANSWERS = (
    "# Answers of the shipped studies\n\n"
    "The terminal shows these lines at 80 columns.\n"
    "[shared_pipeline](#shared_pipeline) also has the output of `dse check` and `dse explain`.\n"
)
WHOLE = "shared_pipeline"
"""The study whose answers of all three commands are on the page: its output is the shortest."""
REPORT = (
    "## A report\n\n"
    "This is the report of `crypto`, as `dse run` writes it.\n"
    "Click a design, change the preferences, or [open it in a separate page](crypto.html).\n\n"
    '<iframe class="report" src="crypto.html" title="The report of crypto" loading="lazy"></iframe>\n'
)
QUESTIONS = {
    "compress": "Should compression move to an engine that 64 threads share?",
    "compress_system": "Which functions of a compressor get engines on one chip?",
    "cpu_accelerator": "Which cache level should an accelerator share with the CPU?",
    "crypto": "Which AES engine, behind which interface, shared by how many threads?",
    "gpu_memory": "What does a GPU gain if its memory is nearer?",
    "jpeg": "Which functions of a JPEG decoder become hardware?",
    "jpeg_system": "Which functions of a JPEG decoder get engines on one chip?",
    "rotate": "Which of two ways to rotate a picture suits hardware?",
    "server": "Does a 64-core server need engines for AES-GCM and compression?",
    "shared_pipeline": "How long should each stream hold a shared pipeline?",
    "soc": "Which of six kernels get engines within 60 kLUT?",
    "sparc_evolution": "Which of five AES accelerators is the fastest for small and for large calls?",
}


def digest_study(path: Path) -> str:
    """Return a digest of a study and of the files in its folder that it reads."""
    files = {file for file in dse.load(path).code if file.is_relative_to(path.parent)}
    state = hashlib.sha256()
    for file in sorted(files | {path}):
        state.update(file.read_bytes())
    return state.hexdigest()[:16]


def card(name: str) -> str:
    """Return the card of a study: the picture, the question, and the name."""
    return (
        f'<div class="card" markdown>\n![The front of the study {name}]({name}.svg)\n\n'
        f"**{QUESTIONS[name]}**\n\n`{name}`\n</div>\n"
    )


def page() -> str:
    """Return the page: a card per study."""
    head = (
        "# Gallery\n\n"
        "Each picture is the Pareto front of a shipped study, and the ring is the recommended design.\n"
        "`dse new mine.toml --example NAME` copies a study; run it, and change its numbers.\n"
    )
    cards = "\n".join(card(path.stem) for path in STUDIES)
    return f'{head}\n<div class="cards" markdown>\n\n{cards}\n</div>\n\n{REPORT}'


def answers(path: Path, run: Path) -> str:
    """Run a study, and return the text of the run at 80 columns; of `WHOLE`, of all commands."""
    shown = [f"## {path.stem}\n"]
    commands = [["run", f"studies/{path.name}", "--out", str(run)]]
    if path.stem == WHOLE:
        commands = [["check", f"studies/{path.name}"], *commands, ["explain", str(run)]]
    for command, *more in commands:
        done = subprocess.run(
            [sys.executable, "-m", "dse", command, *more],
            cwd=ROOT, env=os.environ | {"COLUMNS": "80"}, text=True, capture_output=True, check=True,
        )
        line = f"dse {command} {more[0]}".replace(str(run), f"runs/{path.stem}")
        text = done.stdout.replace(str(run), f"runs/{path.stem}")
        shown.append(f"```console\n$ {line}\n{text}```\n")
    return "\n".join(shown)


def draw(path: Path, result: Result) -> None:
    """Draw the front of a study over two objectives with the recommended design."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "gallery", "font.size": 9}
    front, nash = result.front.designs, result.nash()
    first, *others = result.objectives
    cost = others[-1]
    figure, axis = plt.subplots(figsize=(3.6, 2.6), layout="constrained")
    axis.scatter(front[cost.name], front[first.name], s=14, color="#00897b")
    axis.scatter([nash[cost.name]], [nash[first.name]], s=70, facecolors="none", edgecolors="#d81b60")
    for axes, objective in (("x", cost), ("y", first)):
        values = front[objective.name]
        if values.min() > 0 and values.max() > 20 * values.min():
            axis.set(**{f"{axes}scale": "log"})
        unit = "" if objective.unit == "1" else f" [{objective.unit}]"
        axis.set(**{f"{axes}label": objective.name.replace("_", " ") + unit})
    axis.grid(alpha=0.3)
    figure.savefig(FOLDER / f"{path.stem}.svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    texts = [ANSWERS]
    with TemporaryDirectory() as folder:
        for study in STUDIES:
            run = Path(folder) / study.stem
            texts.append(answers(study, run))
            draw(study, dse.load_result(run))
            if study.stem == "crypto":
                shutil.copy(run / "report.html", FOLDER / "crypto.html")
    (FOLDER / "answers.md").write_text("\n".join(texts), encoding="utf-8")
    digests = {path.stem: digest_study(path) for path in STUDIES}
    (FOLDER / "studies.json").write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")
    (FOLDER / "index.md").write_text(page(), encoding="utf-8")
