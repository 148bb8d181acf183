"""Observable: what monitors can see of a chain, known before it is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Observable:
    """What a driver will put into a Deployment, beyond what each has."""

    counting_sffs: tuple[str, ...] = ()
    """Deployment.sffs, by node."""
    watchable_sffs: tuple[str, ...] = ()
    """Deployment.watchable_sffs, by node."""
    switches: tuple[str, ...] = ()
    """Deployment.switches, by node."""
    exporting_switches: tuple[str, ...] = ()
    """Those of them with sFlow and IPFIX, by node."""


AskObservable = Callable[[], Observable | None]
"""Asks the driver what can be observed of a chain (Driver.observable)."""
