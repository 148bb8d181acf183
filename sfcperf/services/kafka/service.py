"""The service `kafka`: starts a broker or uses a cluster, and makes the run's topics there."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from sfcperf.drivers.base import Resource
from sfcperf.environment import tools
from sfcperf.errors import (
    DeploymentError,
    EnvironmentLacks,
    InputError,
    MeasurementError,
    errors_as,
)
from sfcperf.plugins import Requirement, array, integer, object_schema, port
from sfcperf.services import jars
from sfcperf.services.base import RunningService, Service, ServiceContext
from sfcperf.services.kafka import broker
from sfcperf.services.kafka.broker import Broker
from sfcperf.services.kafka.topics import NAMES, TopicsClient

_TOPIC = "topic"
"""Kind of a topic in the journal."""
_RECOVERY_S = 60.0


class RunningKafka(RunningService):
    """The topics of a run, on a broker of its own or on a cluster. `Kafka.start` makes it when the
    topics exist."""

    def __init__(
        self, bootstrap: str, topics: Mapping[str, str], client: TopicsClient, own: Broker | None
    ) -> None:
        """`own` is the run's own broker; None: the topics are on a cluster."""
        self._bootstrap = bootstrap
        self._client = client
        self._own = own
        self.topics = topics
        """Use of each topic (`records`, `verdicts`, `dead-letters`) -> its name."""

    @property
    def address(self) -> str:
        """`ADDRESS:PORT`. For a cluster, all addresses that were given, separated by commas."""
        return self._bootstrap

    @property
    def address_for_functions(self) -> str:
        """The address; with the topic of records, `ADDRESS:PORT/TOPIC`, if that does not have its
        usual name."""
        records = self.topics["records"]
        return self.address if records == NAMES["records"] else f"{self.address}/{records}"

    def problem(self) -> str | None:
        """Say whether the broker has ended, does not answer, or cannot store records; None if it
        works."""
        if ended := self._ended():
            return ended
        problem = self._client.problem(list(self.topics.values()))
        # A broker that has ended in between does not answer either: then say that it has ended.
        return problem and (self._ended() or problem)

    def _ended(self) -> str | None:
        """Say how the run's own broker has ended; None if it runs, or for a cluster."""
        ended = self._own.problem() if self._own is not None else None
        return None if ended is None else f"the broker {ended}"

    def recover(self) -> None:
        """Start the run's own broker again. A cluster gets a minute to come back. Raises
        EnvironmentLacks."""
        if self._own is not None:
            self._own.stop()
            self._own.start(self._client)
        try:
            self._client.wait_ready(list(self.topics.values()), timeout_s=_RECOVERY_S)
        except MeasurementError as error:
            raise EnvironmentLacks(error.message) from error

    def counters(self) -> Mapping[str, int]:
        """Number of records stored in each topic: `records`, `verdicts`, `dead_letters`. Raises
        MeasurementError."""
        sizes = self._client.sizes(list(self.topics.values()))
        return {use.replace("-", "_"): sizes[name] for use, name in self.topics.items()}

    def facts(self) -> Mapping[str, Any]:
        """Where the broker is, and the names of the topics; for a broker of the run's own also its
        version."""
        facts = {"bootstrap": self._bootstrap, "topics": dict(self.topics)}
        return {**facts, "version": broker.version()} if self._own is not None else facts

    def pids(self) -> tuple[int, ...]:
        """Id of the broker's process, if it is the run's own."""
        return () if self._own is None else self._own.pids()

    def stop(self) -> None:
        """End the broker, or remove the topics from the cluster."""
        if self._own is not None:
            self._own.stop()
        else:
            with suppress(MeasurementError):
                self._client.remove(list(self.topics.values()))


class Kafka(Service):
    """Apache Kafka, with three topics: `records` of flows, `verdicts` on them, and `dead-letters`,
    what is neither. Without `bootstrap`, a broker is started for the run and ends with it. It asks
    nobody who he is: let it listen where only the chain's hosts reach it."""

    name = "kafka"
    title = "Kafka: a broker of the run's own, or topics on a cluster that exists"
    parameters = object_schema(
        {
            "listen": {
                "type": "string",
                "default": "",
                "description": "IPv4 address of this machine on which the broker listens. Empty: "
                "127.0.0.1, or where the chain's hosts are other machines, the one that the driver "
                "reaches them from.",
            },
            "port": port("The broker's port; 0: a free one.", 0, default=0),
            "bootstrap": array(
                "Brokers of a cluster that exists: topics are made there, with the run's tag in "
                "their names, and removed at its end. Empty: a broker of the run's own.",
                {
                    "type": "string",
                    "pattern": r"^([0-9]{1,3}(\.[0-9]{1,3}){3}|\[[0-9a-fA-F:]+\]):[0-9]{1,5}$",
                },
                default=[],
                maxItems=16,
            ),
            "partitions": integer(
                "Partitions of each topic: as many consumers of a group can share the work.",
                (1, 64),
                default=4,
            ),
        }
    )

    @classmethod
    def requirements(cls, parameters: Mapping[str, Any]) -> list[Requirement]:
        """The client library; for a broker of the run's own also Java and Kafka."""
        client = tools.python_packages(["confluent_kafka"], "security")
        return [client] if parameters["bootstrap"] else [client, *jars.requirements(broker.JARS)]

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        """Refuse a `listen` that is no IPv4 address, and settings of an own broker together with a
        cluster."""
        listen = parameters["listen"]
        try:
            # Empty stands for the default; any other text must be an address.
            _ = listen and ipaddress.IPv4Address(listen)
        except ValueError as error:
            raise InputError(f"{listen!r} is not an IPv4 address", where="listen") from error
        if parameters["bootstrap"] and (listen or parameters["port"]):
            raise InputError(
                "`listen` and `port` are of a broker of the run's own, `bootstrap` of another one",
                where="bootstrap",
                hint="leave one of them out",
            )

    @classmethod
    def start(cls, context: ServiceContext, parameters: Mapping[str, Any]) -> RunningKafka:
        """Start a broker or connect to a cluster; return when records can be stored in the topics.
        Raises EnvironmentLacks."""
        _check_reachable(context, [parameters["listen"], *parameters["bootstrap"]])
        if parameters["bootstrap"]:
            return _on_cluster(context, ",".join(parameters["bootstrap"]), parameters["partitions"])
        own = Broker(context, parameters["listen"] or context.address(), parameters["port"])
        own.format()
        client = TopicsClient(own.address)
        own.start(client)
        _create(client, NAMES, parameters["partitions"])
        return RunningKafka(own.address, NAMES, client, own)

    @classmethod
    def undo(cls, resources: Sequence[Resource], *, dry_run: bool) -> list[str]:
        """Remove topics from clusters. Raises DeploymentError for a cluster that does not remove
        them."""
        lines = []
        for resource in resources:
            bootstrap = str((resource.detail or {}).get("bootstrap"))
            line = f"topic {resource.name} on {bootstrap}"
            with errors_as(DeploymentError, MeasurementError, context=line):
                client = TopicsClient(bootstrap)
                act = client.existing if dry_run else client.remove
                lines += [line] if act([resource.name]) else []
        return lines


def _check_reachable(context: ServiceContext, addresses: Iterable[str]) -> None:
    """Raise EnvironmentLacks if an address is a loopback address of this machine, and the chain's
    hosts are other machines, which do not reach it."""
    loopback = [each for each in addresses if each.startswith(("127.", "[::1]:"))]
    if loopback and not ipaddress.IPv4Address(context.address()).is_loopback:
        raise EnvironmentLacks(
            f"functions are on other machines, which reach no broker at {loopback[0]}",
            hint="leave `listen` out, or give an address that they reach",
        )


def _on_cluster(context: ServiceContext, bootstrap: str, partitions: int) -> RunningKafka:
    """Make the run's topics on a cluster. The run's tag is in their names, and they are in the
    journal first."""
    topics = {use: f"{name}-{context.tag}" for use, name in NAMES.items()}
    detail = {"bootstrap": bootstrap}
    context.journal.intend([Resource(_TOPIC, name, detail) for name in topics.values()])
    client = TopicsClient(bootstrap)
    _create(client, topics, partitions)
    return RunningKafka(bootstrap, topics, client, None)


def _create(client: TopicsClient, topics: Mapping[str, str], partitions: int) -> None:
    """Make the topics. Raises EnvironmentLacks."""
    try:
        client.create(topics.values(), partitions)
    except MeasurementError as error:
        raise EnvironmentLacks(error.message, hint="look after the brokers") from error
