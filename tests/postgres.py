"""A PostgreSQL server for a test: from a data folder of its own, on a socket below it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from tests.needs import INSTALLED_BY

PLACES = "/usr/lib/postgresql/*/bin"
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "shared_buffers": "16MB",
    "max_connections": "40",
    "autovacuum": "off",
}


class Server:
    """A server that is started, killed and started again; `url` is Optuna's for it."""

    def __init__(self) -> None:
        pytest.importorskip("psycopg", reason="needs psycopg: pip install psycopg[binary]")
        found = sorted(Path("/").glob(PLACES.lstrip("/")))
        if not found:
            pytest.skip(f"needs PostgreSQL: {INSTALLED_BY['postgres']}")
        self._programs, self._process = found[-1], None
        self.folder = Path(tempfile.mkdtemp(prefix="dse-pg-"))  # a short path: it is a socket's
        self.url = f"postgresql+psycopg://postgres:Hunter2@/postgres?host={self.folder}"
        self._user: list[str] = []
        if os.geteuid() == 0:  # the server refuses to be root
            other = pwd.getpwnam("postgres")
            os.chown(self.folder, other.pw_uid, other.pw_gid)
            ids = [f"--reuid={other.pw_uid}", f"--regid={other.pw_gid}", "--clear-groups"]
            self._user = ["setpriv", *ids]
        made: list[str | Path] = [
            self._programs / "initdb",
            "-D",
            self.folder / "data",
            "-U",
            "postgres",
        ]
        self._done(*made, "--auth=trust", "--no-sync", "--no-locale", "-E", "UTF8")

    _process: subprocess.Popen[bytes] | None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = [f"--{name}={value}" for name, value in _SETTINGS.items()]
        place: list[str | Path] = [
            "-D",
            self.folder / "data",
            f"--unix_socket_directories={self.folder}",
        ]
        program: list[str | Path] = [*self._user, self._programs / "postgres", *place, *settings]
        with (self.folder.parent / f"{self.folder.name}.log").open("ab") as log:
            self._process = subprocess.Popen(program, stdout=log, stderr=log, cwd="/")
        for _ in range(600):
            asked: list[str | Path] = [self._programs / "pg_isready", "-q", "-h", self.folder]
            if subprocess.run(asked, check=False).returncode == 0:
                return
            time.sleep(0.1)
        raise AssertionError("the server does not start")

    def stop(self) -> None:
        """End it at once, by its process id: all that is connected to it is cut off."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(30)
            self._process = None

    def remove(self) -> None:
        """End it, and remove what it wrote."""
        self.stop()
        shutil.rmtree(self.folder)
        (self.folder.parent / f"{self.folder.name}.log").unlink()

    def _done(self, *program: str | Path) -> None:
        done = subprocess.run(
            [*self._user, *program], check=False, capture_output=True, text=True, cwd="/"
        )
        assert done.returncode == 0, done.stderr
