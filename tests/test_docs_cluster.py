"""The figures of docs/cluster.md."""

from __future__ import annotations

from dse.search import cluster, workers
from tests.docs_figures import Document


def test_figures_of_the_cluster() -> None:
    doc = Document("docs/cluster.md")
    doc.given("of the example", r"tcp://HOST:8786|--port 8786|--nworkers 8 --nthreads 1|n_jobs=4")
    doc.says("takes longer than sending them: @ s", workers.TASK_SECONDS)
    doc.says("Without any worker it waits for @ s", cluster._ALONE)
    doc.given("README's", r"the exit code is 2")
    doc.check()
