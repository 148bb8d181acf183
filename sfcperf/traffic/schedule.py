"""Draws the schedule of a trace from a seed: which actor does what, and when."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from sfcperf.traffic.activities import ACTIVITIES, PARALLEL_STREAMS, Activity
from sfcperf.traffic.testbed import PREFIX_LENGTH

USERS = 6
"""Number of actors that do nothing bad. Each attack has an actor of its own besides these."""
_QUIET_S = 1.0
"""Time without sessions at the beginning and at the end of a trace."""
_NETWORK = ipaddress.IPv4Network(f"198.18.0.0/{PREFIX_LENGTH}")
_STREAMS = ("tcp-stream", "udp-stream")
"""Activities that use iperf3."""


@dataclass(frozen=True)
class Session:
    """One activity of one actor, from a start for some time."""

    activity: Activity
    actor: str
    start_s: float
    duration_s: float
    number: int
    """Which of the iperf3 servers the session uses. Streams take turns at them, because a server
    serves one test at a time. It is 0 for sessions of other tools."""


@dataclass(frozen=True)
class Schedule:
    """The sessions of one trace, and the addresses of all who take part."""

    seed: int
    duration_s: float
    sessions: tuple[Session, ...]
    """All sessions, in the order in which they start."""
    addresses: dict[str, str]
    """Name of an actor or a server -> its IPv4 address."""


def draw(seed: int, duration_s: float, servers: Sequence[str]) -> Schedule:
    """Draw the schedule of a seed; it is the same on every machine. `servers` are names of servers,
    which get addresses too."""
    random = Random(seed)
    sessions = sorted(_sessions(random, duration_s), key=lambda session: session.start_s)
    actors = dict.fromkeys(session.actor for session in sessions)
    names = [*servers, *actors]
    # All but the first and the last address, which are those of the network and of broadcast.
    places = random.sample(range(1, _NETWORK.num_addresses - 1), len(names))
    addresses = {name: str(_NETWORK[place]) for name, place in zip(names, places, strict=True)}
    return Schedule(seed, duration_s, tuple(sessions), addresses)


def _sessions(random: Random, duration_s: float) -> Iterator[Session]:
    """Draw the sessions of each activity: as many as it has per minute, but at least one. Benign
    sessions are those of a random user; each attack is an actor of its own."""
    for activity in ACTIVITIES:
        count = max(1, round(activity.sessions_per_minute * duration_s / 60))
        for number in range(count):
            longest = max(_QUIET_S, duration_s - 2 * _QUIET_S)
            session_s = min(random.uniform(*activity.duration_s), longest)
            start_s = random.uniform(_QUIET_S, max(_QUIET_S, duration_s - _QUIET_S - session_s))
            user = f"user{random.randrange(USERS) + 1}"
            actor = f"{activity.name}-{number + 1}" if activity.attack else user
            # Both kinds of streams are numbered in turn, so that they share the servers evenly.
            stream = (
                number * len(_STREAMS) + _STREAMS.index(activity.name)
                if activity.name in _STREAMS
                else 0
            )
            yield Session(activity, actor, start_s, session_s, stream % PARALLEL_STREAMS)
