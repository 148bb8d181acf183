"""The IDS as a VNF type: forwards, and extracts features of flows (paper, section VI)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from sfcperf.dataplane import binaries
from sfcperf.dataplane.stats_process import StatsProcess
from sfcperf.errors import DeploymentError, InputError
from sfcperf.hosts.base import Host
from sfcperf.hosts.merging import Merging
from sfcperf.plugins import Requirement, commands, integer, number, object_schema
from sfcperf.vnfs import kernel_forwarding
from sfcperf.vnfs.base import Attachment, NetworkFunction, RunningFunction
from sfcperf.vnfs.ids.features import MOST_EARLY_FLOWS, MOST_EARLY_PACKETS, PLACES
from sfcperf.vnfs.kernel_forwarding import KernelForwarding
from sfcperf.vnfs.nsh_forwarding import NshForwarding

BINARY = "sfc-ids"
_ADDRESS = r"(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|\[[0-9a-fA-F:]+\]):[0-9]{1,5}"
_BROKER = re.compile(rf"({_ADDRESS}(?:,{_ADDRESS})*)(?:/([A-Za-z0-9._-]{{1,249}}))?")
"""Brokers, and the topic of records if it is not the usual one."""
_runs = itertools.count()
"""Numbers of files of records."""
_Tool = TypeVar("_Tool", bound=StatsProcess)


def _records(event: Mapping[str, Any]) -> dict[str, int]:
    """Return the counters of records and flows in an event of the tool."""
    names = ("records_made", "records_sent", "flows_evicted", "malformed")
    counters = {name: int(event[name]) for name in names}
    lost = event["records_lost"]
    counters["records_lost"] = sum(lost.values())
    return counters | {f"records_lost_{reason}": count for reason, count in lost.items()}


class RunningIds(NshForwarding):
    """An sfc-ids process that forwards NSH packets."""

    binary = BINARY

    def counters(self) -> Mapping[str, int]:
        """Return the counters of the forwarder; `records_made`; `records_sent`, which the broker
        acknowledged or which were written to the file; `records_lost`, and `records_lost_REASON`
        for each reason; `flows_evicted` for lack of room in the table; and `malformed`, packets
        that were forwarded and belong to no flow. Records that are under way are made, and neither
        sent nor lost. Raises MeasurementError."""
        event = self.fresh()
        return {**self.forwarded(event), **_records(event)}

    def data_plane_pids(self) -> tuple[int, ...]:
        """Return the id of the process."""
        return self.pids()


class _Observer(StatsProcess, RunningFunction):
    """An sfc-ids process that observes what the kernel forwards."""

    binary = BINARY

    def counters(self) -> Mapping[str, int]:
        """Return the frames that were observed, those that were missed, and the counters of
        records. Raises MeasurementError."""
        event = self.fresh()
        return {"observed": event["observed"], "unobserved": event["unobserved"], **_records(event)}


class PlainIds(KernelForwarding):
    """A host whose kernel forwards plain IP, and its observer. The constructor starts the observer,
    `set_up` waits for it, and `take_away` ends it."""

    def __init__(self, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> None:
        super().__init__(host, attachment, knobs)
        self._merging = Merging(host)
        options = ["--observe", ",".join(attachment.interfaces)]
        self._observer = _spawn(_Observer, host, attachment, knobs, options)

    def set_up(self) -> None:
        """Return when packets are observed as they were sent. Raises DeploymentError,
        MeasurementError when they never will be."""
        for interface in self._interfaces:
            self._merging.turn_off(interface)
        self._observer.wait_ready()

    def counters(self) -> Mapping[str, int]:
        """Return the counters of kernel forwarding, and those of records (see `RunningIds`);
        `observed`, frames that arrived at either interface, and `unobserved`, those that came
        faster than they were looked at: these were forwarded, but are in no record. Raises
        MeasurementError."""
        return {**super().counters(), **self._observer.counters()}

    def problem(self) -> str | None:
        """Return why the observer has ended or kernel forwarding does not work, None while both
        work."""
        return self._observer.problem() or super().problem()

    def facts(self) -> Mapping[str, Any]:
        """Return the engine `kernel`: the kernel forwards, and sfc-ids only observes."""
        return {"engine": "kernel"}

    def pids(self) -> tuple[int, ...]:
        """Return the id of the observer's process."""
        return self._observer.pids()

    def take_away(self) -> None:
        """End the observer, which sends the records of its last window, and let the interfaces
        merge packets again."""
        self._observer.stop()
        self._merging.restore()


class Ids(NetworkFunction):
    """Forwards packets like the forwarder, and meanwhile extracts 46 features of each flow: of its
    packets in each window, and of its first packets. Another thread sends them to Kafka, or writes
    them to a file. What it is too slow for is lost and counted; packets never wait for it."""

    name = "ids"
    title = "Intrusion detection: extracts features of flows and sends them to Kafka"
    nsh_aware = True
    plain_ip = True
    interfaces = 1
    kernel_path = False
    parameters = object_schema(
        {
            "window_s": number(
                "Length of a window, seconds: a multiple of 0.001. Each flow gets a record per "
                "window.",
                (0.1, 60),
                default=2,
            ),
            "slide_s": number(
                "Time from the start of a window to the start of the next, seconds: the window's "
                f"length divided by a whole number up to {PLACES}. If it is shorter than the "
                "window, windows overlap. 0: the window's length.",
                (0, 60),
                default=0,
            ),
            "early_packets": integer(
                "Packets after which a flow gets an early record, before its window ends; 0: no "
                "early records.",
                (0, MOST_EARLY_PACKETS),
                default=4,
            ),
            "early_flows": integer(
                "Number of flows that a client starts within `slide_s` at which those that had no "
                "record yet get an early one; each thread counts for itself. 0: no such records. "
                "Needs early_packets.",
                (0, MOST_EARLY_FLOWS),
                default=16,
            ),
            "flows": integer(
                "Flows that each thread can track at a time; each takes about 800 bytes.",
                (16, 1 << 22),
                default=65_536,
            ),
            "kafka": {
                "description": "Where records go: the name of a service of the workflow, or "
                "ADDRESS:PORT of a broker, with /TOPIC where the topic is not sfcperf-flow-records."
                " Empty: to a file of JSON lines in the results, "
                "raw/driver/DEPLOYMENT/FUNCTION/*.records.jsonl.",
                "type": "string",
                "default": "",
            },
        }
    )

    @classmethod
    def carried_by_process(cls, knobs: Mapping[str, Any]) -> bool:
        """Return True."""
        return True

    @classmethod
    def requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """Require the compiled tool."""
        return [binaries.requirement(BINARY)]

    @classmethod
    def tools(cls, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the commands that plain IP needs; NSH needs none."""
        return (*commands(kernel_forwarding.requirements()), "ethtool")

    @classmethod
    def services(cls, knobs: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the service that the knob `kafka` names; none if the knob is an address, or
        empty."""
        kafka = str(knobs["kafka"])
        return {} if not kafka or _BROKER.fullmatch(kafka) else {"kafka": kafka}

    @classmethod
    def check(cls, knobs: Mapping[str, Any]) -> None:
        """Refuse windows that are no whole milliseconds, and a `slide_s` that does not go into
        them. Raises InputError."""
        window_ms, slide_ms = _milliseconds(knobs, "window_s"), _milliseconds(knobs, "slide_s")
        if slide_ms and (slide_ms < 100 or window_ms % slide_ms or window_ms // slide_ms > PLACES):
            raise InputError(
                f"{knobs['slide_s']:g} s does not go into window_s, {knobs['window_s']:g} s, up to "
                f"{PLACES} times",
                where="slide_s",
                hint="at least 0.1, and window_s divided by a whole number; 0: window_s itself",
            )

    @classmethod
    def start(cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> RunningFunction:
        """Start sfc-ids on the ingress interface and wait until it forwards; in plain IP, let the
        kernel forward, and observe both interfaces. The broker need not be there."""
        if attachment.encapsulation == "none":
            return PlainIds.launch(host, attachment, knobs)
        options = ["--interface", attachment.interfaces[0]]
        if attachment.vcpus:
            options += ["--cpus", ",".join(map(str, attachment.vcpus))]
        running = _spawn(RunningIds, host, attachment, knobs, options)
        with kernel_forwarding.all_or_nothing(running):
            running.wait_ready()
        return running


def _spawn(
    kind: type[_Tool],
    host: Host,
    attachment: Attachment,
    knobs: Mapping[str, Any],
    options: list[str],
) -> _Tool:
    """Start sfc-ids as a process of `kind`, with these options, which say where packets come from,
    and those of the knobs. Raises DeploymentError if the knob `kafka` names nothing that is known,
    EnvironmentLacks."""
    broker, stdout = _broker(attachment, str(knobs["kafka"])), None
    options += ["--window-ms", str(_milliseconds(knobs, "window_s"))]
    if slide_ms := _milliseconds(knobs, "slide_s"):
        options += ["--slide-ms", str(slide_ms)]
    options += ["--early-packets", str(int(knobs["early_packets"]))]
    options += ["--early-flows", str(int(knobs["early_flows"]))]
    options += ["--flows", str(int(knobs["flows"])), "--source", attachment.name]
    options += ["--run", attachment.run_id]
    if broker is None:
        # To standard output, which comes to a file on the machine that runs sfcperf.
        options += ["--records", "-"]
        stdout = attachment.outputs / f"{attachment.name}-{next(_runs)}.records.jsonl"
    else:
        brokers, topic = broker
        options += ["--brokers", brokers, *(["--topic", topic] if topic else [])]
        if attachment.management and attachment.management.namespace:
            options += ["--management-netns", str(attachment.management.namespace)]
    return kind.spawn(attachment.name, host, options, stdout=stdout)


def _broker(attachment: Attachment, kafka: str) -> tuple[str, str | None] | None:
    """Return the brokers, ADDRESS:PORT with commas between them, and the topic, which is None if it
    is the usual one. Return None if records do not go to Kafka. Raises DeploymentError."""
    if not kafka:
        return None
    if found := _BROKER.fullmatch(attachment.services.get(kafka, kafka)):
        return found[1], found[2]
    raise DeploymentError(
        f"{attachment.name}: {kafka!r} in the knob kafka is neither a service of the workflow nor "
        "ADDRESS:PORT",
        hint=f"services: {', '.join(sorted(attachment.services)) or 'none'}",
    )


def _milliseconds(knobs: Mapping[str, Any], name: str) -> int:
    """Return a knob in seconds as milliseconds. Raises InputError for a fraction of a
    millisecond."""
    milliseconds = round(float(knobs[name]) * 1000)
    if abs(milliseconds - float(knobs[name]) * 1000) > 1e-6:
        raise InputError(
            f"{knobs[name]!r} s is not a whole number of milliseconds",
            where=name,
            hint=f"for instance {milliseconds / 1000:g}",
        )
    return milliseconds
