"""Observable: what monitors will be able to see of a chain, known before it is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Observable:
    """What a driver will put into the Deployment of a chain, of the parts that not every Deployment
    has."""

    counting_sffs: tuple[str, ...] = ()
    """Nodes whose SFF will be in Deployment.sffs."""
    watchable_sffs: tuple[str, ...] = ()
    """Nodes whose SFF will be in Deployment.watchable_sffs."""
    switches: tuple[str, ...] = ()
    """Nodes whose switch will be in Deployment.switches."""
    exporting_switches: tuple[str, ...] = ()
    """Nodes of those switches that have sFlow and IPFIX."""


AskObservable = Callable[[], Observable | None]
"""Asks the driver what can be observed of a chain (Driver.observable)."""
