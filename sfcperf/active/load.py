"""A load: so many packets per second for so long, and what became of them.

A search for throughput (the probe `ndr`) offers many loads within one trial. It does so over any
probe whose class has an `offers`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.management.deployment import Deployment


@dataclass(frozen=True)
class Latency:
    """Percentiles of the one-way latency of the packets of a load, microseconds."""

    p50_us: float
    p99_us: float
    p999_us: float

    def percentiles(self) -> dict[str, float]:
        """Return the percentiles by name (`p50`, `p99`, `p999`), microseconds."""
        return {"p50": self.p50_us, "p99": self.p99_us, "p999": self.p999_us}


@dataclass(frozen=True)
class Load:
    """A load that was offered to the chain, and what the chain delivered of it."""

    rate_pps: float
    """Rate that was asked for: the intended load (RFC 2285, 3.5.1), packets per second, all flows
    together."""
    sent: int
    """Packets that the sender put on the wire, without those that it lost itself: the offered load
    (RFC 2285, 3.5.2)."""
    received: int
    """Packets of this load that the chain delivered, each counted once. Packets that the receiver
    itself lost afterwards count too, since the chain did not lose them."""
    duration_s: float
    """Time that the sender took to send them, seconds."""
    endpoint_limit: str = ""
    """Why the endpoints themselves were the limit, as a clause; empty if they were not. A sender
    that is merely slower than asked for need not be named here: `reached` tells it."""
    latency: Latency | None = None
    """Percentiles of the one-way latency; None where it cannot be measured."""
    withheld: int = 0
    """Packets that were due, but that the chain kept the sender from sending: where both share a
    CPU, the chain's work takes the sender's time. A device with flow control does the same to a
    generator (RFC 2285, 3.5)."""

    @property
    def sent_pps(self) -> float:
        """Return the offered load as a rate, packets per second."""
        return self.sent / self.duration_s

    @property
    def lost(self) -> int:
        """Return the number of packets that the chain lost."""
        return self.sent - self.received

    @property
    def loss_ratio(self) -> float:
        """Return the share of the sent packets that the chain lost (RFC 1242, 3.6); 0 if none was
        sent."""
        return self.lost / self.sent if self.sent else 0.0

    def reached(self, tolerance: float) -> bool:
        """Whether the sender's rate was at least `rate_pps` less the share `tolerance` of it."""
        return self.sent_pps >= (1 - tolerance) * self.rate_pps


class LoadGenerator(ABC):
    """A sender and a receiver that offer loads to a chain. One object serves one trial.

    The order of calls is `prepare`, `offer` any number of times, `cleanup`, which is called also
    when one of the others raised; all on one thread. They raise MeasurementError when there is no
    result.

    `parameters` of the class is the JSON Schema of what remains the same for all loads of a trial
    (frame size, flows, ...), in the form of Plugin.parameters. The rate, the duration and the port
    are not part of it. `parameters` of an object are values that fit it, defaults filled in.
    """

    parameters: ClassVar[Mapping[str, Any]]
    protocols: ClassVar[frozenset[str]]
    """Protocols of the packets, where they are the same for all parameters. Other classes override
    `ip_protocols`."""
    has_latency: ClassVar[bool] = False
    """Whether the class can measure the latency of its loads."""
    shortest_s: ClassVar[float]
    """Least duration of a load whose counts can be relied upon."""

    def __init__(self, parameters: Mapping[str, Any], port: int | None = None) -> None:
        # The class attribute of this name is the JSON Schema; the object has the values.
        self.parameters = parameters  # type: ignore[misc]
        self.port = port
        """Destination port; None: the object chooses one."""

    @classmethod
    def ip_protocols(cls, parameters: Mapping[str, Any]) -> frozenset[str]:
        """Return the protocols of the packets; see Probe.ip_protocols."""
        return cls.protocols

    @abstractmethod
    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        """Start what must be there before the first load. `raw_dir` is the trial's folder."""

    @abstractmethod
    def offer(
        self, deployment: Deployment, raw_dir: Path, rate_pps: float, duration_s: float
    ) -> Load:
        """Offer one load, evenly spread over `duration_s`, and return when no packet of it can
        still arrive.

        `raw_dir` is a folder of this load alone. A tool that supports only certain durations uses
        the next longer one of these. A sender that is too slow is no error: it sends what it can
        for that duration, and no longer.
        """

    @abstractmethod
    def cleanup(self) -> None:
        """Stop what `prepare` started. A process that has already ended is no error."""
