"""Packets of pktgen for a deployed chain."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfcperf.active.load import Load
from sfcperf.active.pktgen import PktgenLoad
from sfcperf.management.deployment import Deployment
from sfcperf.workflow.defaults import with_defaults

Offer = Callable[[float, float], Load]
"""Offers packets per second, for seconds; gives what became of them."""


@contextmanager
def offering(deployment: Deployment, port: int | None = None, **parameters: Any) -> Iterator[Offer]:
    """While the block lasts, packets of 64 bytes can be offered, with these parameters of pktgen
    beside the defaults."""
    asked = with_defaults(PktgenLoad.parameters, {"frame_bytes": 64, **parameters})
    pktgen = PktgenLoad(asked, port)
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder)
        try:
            pktgen.prepare(deployment, raw)
            yield lambda rate_pps, duration_s: pktgen.offer(deployment, raw, rate_pps, duration_s)
        finally:
            pktgen.cleanup()
