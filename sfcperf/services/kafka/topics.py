"""Topics of a run: made, looked at and removed through any broker of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from sfcperf import retry
from sfcperf.errors import MeasurementError

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

NAMES: Mapping[str, str] = {
    "records": "sfcperf-flow-records",
    "verdicts": "sfcperf-verdicts",
    "dead-letters": "sfcperf-dead-letters",
}
"""What a topic is for -> its name on a broker of the run's own; elsewhere `-TAG` follows."""

_ANSWER_S = 5.0
"""How long an answer is waited for by default."""
_CLUSTER_DEFAULT = -1
"""Of the protocol: as many replicas as the cluster gives by default."""
_CONFIG = {
    # By default a message has the time of its sender, which may be a VM with a clock of its own.
    "message.timestamp.type": "LogAppendTime",
    # The default, whatever that of the cluster is: verdicts and dead letters are made to fit.
    "max.message.bytes": "1048588",
}
"""Of topics."""


class TopicsClient:
    """A client of one cluster. Methods raise MeasurementError when it does not do as asked."""

    def __init__(self, bootstrap: str) -> None:
        """`bootstrap`: `ADDRESS:PORT`, or several with commas between."""
        from confluent_kafka.admin import AdminClient

        self._bootstrap = bootstrap
        self._client: AdminClient = AdminClient(
            {
                "bootstrap.servers": bootstrap,
                "socket.timeout.ms": int(_ANSWER_S * 1000),
                "reconnect.backoff.max.ms": 500,
                # What is wrong is in the answers; librdkafka prints to stderr.
                "log_level": 0,
            }
        )

    def create(self, names: Iterable[str], partitions: int) -> None:
        """Create topics and return when records can be stored in them."""
        from confluent_kafka.admin import NewTopic

        self._topics()  # says what is wrong sooner, and in other words, than a request for topics
        wanted = list(names)
        new = [NewTopic(name, partitions, _CLUSTER_DEFAULT, config=_CONFIG) for name in wanted]
        self._finish("create", self._client.create_topics(new, request_timeout=_ANSWER_S))
        self.wait_ready(wanted, timeout_s=_ANSWER_S)

    def existing(self, names: Iterable[str]) -> list[str]:
        """Those of the topics that exist."""
        topics = self._topics()
        return [name for name in names if name in topics]

    def remove(self, names: Iterable[str]) -> list[str]:
        """Remove those of the topics that exist, and give their names."""
        from confluent_kafka import KafkaError, KafkaException

        removed = []
        for name, answer in self._ask_to_remove(self.existing(names)).items():
            try:
                self._finish("remove", {name: answer})
                removed.append(name)
            except MeasurementError as error:
                cause = error.__cause__
                gone = isinstance(cause, KafkaException) and (
                    cause.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
                )
                # A broker knows a topic that was removed for a moment longer.
                if not gone:
                    raise
        return removed

    def _ask_to_remove(self, names: list[str]) -> Mapping[str, Future[Any]]:
        if not names:
            return {}  # the client refuses an empty list
        answers: Mapping[str, Future[Any]] = self._client.delete_topics(
            names, request_timeout=_ANSWER_S
        )
        return answers

    def wait_ready(self, names: Sequence[str], timeout_s: float) -> None:
        """Return when records can be stored in these topics."""
        problem: str | None = None

        def ready() -> bool:
            nonlocal problem
            problem = self.problem(names, 1.0)
            return problem is None

        if not retry.until(ready, timeout_s=timeout_s, period_s=0.05):
            raise MeasurementError(problem or "the broker answers too slowly")

    def problem(self, names: Sequence[str], timeout_s: float | None = None) -> str | None:
        """None when brokers answer for all partitions of these topics, else what is wrong."""
        try:
            self.sizes(names, timeout_s)
        except MeasurementError as error:
            return error.message
        return None

    def sizes(self, names: Sequence[str], timeout_s: float | None = None) -> dict[str, int]:
        """Topic -> records that were ever stored in it. Only the leader of a partition knows."""
        from confluent_kafka import TopicPartition
        from confluent_kafka.admin import OffsetSpec

        timeout_s = timeout_s or _ANSWER_S
        topics = self._topics(timeout_s)
        if missing := [name for name in names if name not in topics]:
            raise MeasurementError(f"there is no topic {', '.join(missing)} any more")
        futures = {
            TopicPartition(name, number): OffsetSpec.latest()
            for name in names
            for number in topics[name].partitions
        }
        sizes = dict.fromkeys(names, 0)
        if futures:
            answers = self._client.list_offsets(futures, request_timeout=timeout_s)
            for partition, offset in self._finish("count the records of", answers).items():
                sizes[partition.topic] += offset.offset
        return sizes

    def _topics(self, timeout_s: float | None = None) -> Mapping[str, Any]:
        from confluent_kafka import KafkaException

        try:
            topics: Mapping[str, Any] = self._client.list_topics(
                timeout=timeout_s or _ANSWER_S
            ).topics
        except KafkaException as error:
            raise MeasurementError(
                f"no broker of {self._bootstrap} answers: {_text(error)}"
            ) from error
        return topics

    def _finish(self, verb: str, answers: Mapping[Any, Future[Any]]) -> dict[Any, Any]:
        from confluent_kafka import KafkaException

        try:
            return {key: answer.result(2 * _ANSWER_S) for key, answer in answers.items()}
        except (KafkaException, TimeoutError) as error:
            raise MeasurementError(
                f"{self._bootstrap} does not {verb} topics: {_text(error)}"
            ) from error


def _text(error: Exception) -> str:
    """A KafkaException holds a KafkaError that says it in words."""
    text = getattr(error.args[0], "str", None) if error.args else None
    return str(text()) if text else str(error) or type(error).__name__
