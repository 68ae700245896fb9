"""A run on a cluster: the connection to Dask's scheduler at an address."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from dse.problems import InputError, Problem, without_passwords
from dse.search.cluster import ANSWER_SECONDS, Cluster
from dse.study.credentials import hide_credentials

_LOGGERS = ("asyncio", "tornado", "distributed")
_ADDRESS = "give the address that `dask scheduler` prints, such as tcp://HOST:8786"


@contextmanager
def connected(address: str | None) -> Iterator[Cluster | None]:
    """Connect to a scheduler for some time; None without an address.

    Raises
    ------
    InputError
        If Dask is not installed, or no scheduler answers within some seconds.
    """
    if address is None:
        yield None
        return
    shown = without_passwords(address)
    try:
        from distributed import Client
    except ImportError:
        problem = Problem("--dask", "Dask is not installed", "pip install 'dask[distributed]'")
        raise InputError(shown, [problem]) from None
    for name in (*_LOGGERS, *logging.root.manager.loggerDict):
        if name.partition(".")[0] in _LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # errors are reported below
    try:
        asyncio.run(asyncio.wait_for(_ask(address), 1.5 * ANSWER_SECONDS))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of versions; `Cluster.check` compares them
            client = Client(address, timeout=ANSWER_SECONDS, set_as_default=False)
    except Exception as error:  # any kind of server may answer, or none
        reason = " ".join(str(error).split()) or type(error).__name__
        if shown != address:  # a message may quote parts of the address
            reason = hide_credentials(reason, address)
        problem = Problem("--dask", f"no Dask scheduler answers there: {reason}", _ADDRESS)
        raise InputError(shown, [problem]) from None
    try:
        yield Cluster(client, shown)
    finally:
        with suppress(Exception):
            client.close(timeout=ANSWER_SECONDS)


async def _ask(address: str) -> None:
    """Ask a server for its kind: a client would wait for other servers without end."""
    from distributed.comm.core import connect
    from distributed.security import Security

    comm = await connect(
        address, timeout=ANSWER_SECONDS, **Security().get_connection_args("client")
    )
    try:
        await comm.write({"op": "identity", "reply": True})
        answer = await comm.read()
    finally:
        comm.abort()
    if not isinstance(answer, dict) or answer.get("type") != "Scheduler":
        raise ValueError("the server is of another kind")
