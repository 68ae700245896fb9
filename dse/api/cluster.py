"""A run on a cluster: the connection to Dask's scheduler at an address."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dse.problems import InputError, Problem, without_passwords
from dse.search.cluster import ANSWERS, Cluster
from dse.study.credentials import hidden

_LOGGERS = ("asyncio", "tornado", "distributed")


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
    try:
        from distributed import Client
    except ImportError:
        raise _refused(
            address, "Dask is not installed", "pip install 'dse-accelerators[dask]'"
        ) from None
    for name in (*_LOGGERS, *logging.root.manager.loggerDict):
        if name.partition(".")[0] in _LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # `_refused` reports the errors
    _ask(address)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of versions; `check` compares them
        client = Client(address, timeout=ANSWERS, set_as_default=False)
    try:
        yield Cluster(client, without_passwords(address))
    finally:
        with suppress(Exception):
            client.close(timeout=ANSWERS)


def _refused(address: str, message: str, remedy: str = "") -> InputError:
    remedy = remedy or "give the address that `dask scheduler` prints, such as tcp://HOST:8786"
    shown = without_passwords(address)
    if shown != address:  # a message may quote parts of the address
        message = hidden(message, address)
    return InputError(shown, [Problem("--dask", message, remedy)])


def _ask(address: str) -> None:
    """Send a request to an address: any kind of server may answer, or none."""

    async def asked() -> Any:
        from distributed.comm.core import connect
        from distributed.security import Security

        comm = await connect(address, timeout=ANSWERS, **Security().get_connection_args("client"))
        try:
            await comm.write({"op": "identity", "reply": True})
            return await comm.read()
        finally:
            comm.abort()

    async def in_time() -> Any:
        return await asyncio.wait_for(asked(), 1.5 * ANSWERS)

    try:
        found = asyncio.run(in_time())
    except TimeoutError:
        raise _refused(
            address, f"the server at this address gave no answer for {1.5 * ANSWERS:g} s"
        ) from None
    except ValueError as error:
        raise _refused(address, f"it is not an address: {error}") from None
    except OSError:
        raise _refused(address, "no Dask scheduler answers there") from None
    except Exception:  # the answer is not from a scheduler
        raise _refused(address, "what answers there is not a Dask scheduler") from None
    kind = found.get("type") if isinstance(found, dict) else None
    if kind != "Scheduler":
        raise _refused(address, f"what answers there is not a Dask scheduler: {kind or 'unknown'}")
