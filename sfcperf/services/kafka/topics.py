"""TopicsClient: makes, looks at and removes the topics of a run through any broker of a cluster."""

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
"""Use of each topic -> its name on a broker of the run's own. On a cluster, `-TAG` follows the
name."""

_ANSWER_S = 5.0
"""How long an answer is waited for by default."""
_CLUSTER_DEFAULT = -1
"""Value of Kafka's protocol for as many replicas as the cluster gives by default."""
_CONFIG = {
    # The broker sets the time of a message. By default it is the sender's, which may be a VM with a
    # clock of its own.
    "message.timestamp.type": "LogAppendTime",
    # Kafka's own default, whatever the cluster's is: verdicts and dead letters are made to fit it.
    "max.message.bytes": "1048588",
}
"""Settings of each topic."""


class TopicsClient:
    """A client of one cluster. Methods raise MeasurementError when the cluster does not do as
    asked."""

    def __init__(self, bootstrap: str) -> None:
        """`bootstrap` is `ADDRESS:PORT`, or several separated by commas."""
        from confluent_kafka.admin import AdminClient

        self._bootstrap = bootstrap
        self._client: AdminClient = AdminClient(
            {
                "bootstrap.servers": bootstrap,
                "socket.timeout.ms": int(_ANSWER_S * 1000),
                "reconnect.backoff.max.ms": 500,
                # librdkafka would print to stderr; what is wrong is in its answers anyway.
                "log_level": 0,
            }
        )

    def create(self, names: Iterable[str], partitions: int) -> None:
        """Create topics and return when records can be stored in them."""
        from confluent_kafka.admin import NewTopic

        self._topics()  # if no broker answers, this fails sooner, and says it more clearly
        wanted = list(names)
        new = [NewTopic(name, partitions, _CLUSTER_DEFAULT, config=_CONFIG) for name in wanted]
        self._results("create", self._client.create_topics(new, request_timeout=_ANSWER_S))
        self.wait_ready(wanted, timeout_s=_ANSWER_S)

    def existing(self, names: Iterable[str]) -> list[str]:
        """Return those of the topics that exist."""
        topics = self._topics()
        return [name for name in names if name in topics]

    def remove(self, names: Iterable[str]) -> list[str]:
        """Remove those of the topics that exist; return the names of those that were removed."""
        from confluent_kafka import KafkaError, KafkaException

        removed = []
        for name, answer in self._ask_to_remove(self.existing(names)).items():
            try:
                self._results("remove", {name: answer})
                removed.append(name)
            except MeasurementError as error:
                cause = error.__cause__
                gone = isinstance(cause, KafkaException) and (
                    cause.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
                )
                # A topic that was just removed is still listed for a moment: it counts as gone.
                if not gone:
                    raise
        return removed

    def _ask_to_remove(self, names: list[str]) -> Mapping[str, Future[Any]]:
        """Ask for the removal of topics; return the name of each -> the answer to come."""
        if not names:
            return {}  # the client refuses an empty list
        answers: Mapping[str, Future[Any]] = self._client.delete_topics(
            names, request_timeout=_ANSWER_S
        )
        return answers

    def wait_ready(self, names: Sequence[str], timeout_s: float) -> None:
        """Return when records can be stored in these topics. Raises MeasurementError if that takes
        longer than `timeout_s`."""
        problem: str | None = None

        def ready() -> bool:
            nonlocal problem
            problem = self.problem(names, 1.0)
            return problem is None

        if not retry.until(ready, timeout_s=timeout_s, period_s=0.05):
            raise MeasurementError(problem or "the broker answers too slowly")

    def problem(self, names: Sequence[str], timeout_s: float | None = None) -> str | None:
        """Say what is wrong; None when brokers answer for all partitions of these topics. Without
        `names`, only whether a broker answers is looked at. `timeout_s` is for each question; None:
        the default."""
        try:
            self.sizes(names, timeout_s)
        except MeasurementError as error:
            return error.message
        return None

    def sizes(self, names: Sequence[str], timeout_s: float | None = None) -> dict[str, int]:
        """Map each topic to the number of records that were ever stored in it. The leaders of its
        partitions are asked, since only they know."""
        from confluent_kafka import TopicPartition
        from confluent_kafka.admin import OffsetSpec

        timeout_s = timeout_s or _ANSWER_S
        topics = self._topics(timeout_s)
        if missing := [name for name in names if name not in topics]:
            raise MeasurementError(f"there is no topic {', '.join(missing)} any more")
        # The latest offset of a partition is that of its next record: so many were stored.
        questions = {
            TopicPartition(name, number): OffsetSpec.latest()
            for name in names
            for number in topics[name].partitions
        }
        sizes = dict.fromkeys(names, 0)
        if questions:
            answers = self._client.list_offsets(questions, request_timeout=timeout_s)
            for partition, offset in self._results("count the records of", answers).items():
                sizes[partition.topic] += offset.offset
        return sizes

    def _topics(self, timeout_s: float | None = None) -> Mapping[str, Any]:
        """Ask for the topics of the cluster: name -> what the client knows of each."""
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

    def _results(self, request: str, answers: Mapping[Any, Future[Any]]) -> dict[Any, Any]:
        """Wait for the answers to a request, and return them by the same keys. `request` says in
        the error what was asked for, such as `create`. Raises MeasurementError."""
        from confluent_kafka import KafkaException

        try:
            # The client gives up after the request's timeout, of at most _ANSWER_S. Waiting longer
            # than that lets its own error come first, which says more.
            return {key: answer.result(2 * _ANSWER_S) for key, answer in answers.items()}
        except (KafkaException, TimeoutError) as error:
            raise MeasurementError(
                f"{self._bootstrap} does not {request} topics: {_text(error)}"
            ) from error


def _text(error: Exception) -> str:
    """What an error says in words. A KafkaException holds a KafkaError, which has them."""
    text = getattr(error.args[0], "str", None) if error.args else None
    return str(text()) if text else str(error) or type(error).__name__
