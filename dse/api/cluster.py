"""A run on a cluster: Dask's scheduler, by its address."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dse.problems import DseError

T = TypeVar("T")


def with_dask(address: str | None, work: Callable[[str | None], T]) -> T:
    """Return what `work` returns, given joblib's backend: of the cluster, or None without one.

    Parameters
    ----------
    address : str or None
        Of Dask's scheduler.

    Raises
    ------
    DseError
        If Dask is not installed, or no scheduler answers.
    """
    if address is None:
        return work(None)
    try:
        from distributed import Client
    except ImportError:
        raise DseError(
            "--dask needs Dask, which is not installed: pip install 'dse-accelerators[dask]'"
        ) from None
    try:
        client = Client(address, timeout="20s")
    except (OSError, ValueError) as error:
        raise DseError(f"no Dask scheduler answers at {address}: {error}") from None
    with client:
        return work("dask")
