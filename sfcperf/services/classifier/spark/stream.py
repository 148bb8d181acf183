"""The speed layer of the engine `spark`: a streaming query from records to verdicts.

The query's checkpoint holds its place in the records. A query with another model goes on from
there, and so does one that is started again: it classifies what was under way once more.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfcperf import retry
from sfcperf.results.files import replace_file
from sfcperf.services.classifier.engine import Broker
from sfcperf.services.classifier.spark import batch, columns
from sfcperf.services.classifier.spark.batch import Model
from sfcperf.services.classifier.spark.settings import MICRO_BATCH, REAL_TIME
from sfcperf.watched import Watch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

STATE = "query.json"
"""File in the work folder that tells how often the query was started again, and since when it
fails."""
UNTROUBLED: Mapping[str, Any] = {"restarts": 0, "failing_since_s": None, "failure": None}
"""State of a query that has never failed. `failing_since_s` is a time of CLOCK_MONOTONIC, seconds;
`failure` says in words why the query fails. Both are null while it works."""
_AGAIN_S = 0.5
"""Pause between two starts of a query that fails."""
_START_TIMEOUT_S = 60.0
_WARM_UP_RECORDS = 20_000
_CLIENT = {
    # With these, a client is back soon after its broker is, and never gives up by itself.
    "kafka.reconnect.backoff.ms": "100",
    "kafka.reconnect.backoff.max.ms": "1000",
    "kafka.delivery.timeout.ms": "2147483647",
    "kafka.linger.ms": "1",
}


class Stream:
    """Runs one query at a time, and starts it again when it fails. `classify` begins it; `paused`
    stops it while Spark does something else."""

    def __init__(
        self,
        spark: SparkSession,
        broker: Broker,
        parameters: Mapping[str, Any],
        work: Path,
        watch: Watch,
    ) -> None:
        """`work` keeps the checkpoint and the state of the query, also those of the process before
        this one."""
        self._spark = spark
        self._broker = broker
        self._parameters = parameters
        self._checkpoint = work / "checkpoint"
        self._file = work / STATE
        self._state = dict(UNTROUBLED)
        with suppress(OSError):
            self._state = json.loads(self._file.read_text())
        self._lock = threading.Lock()
        """Guards the query, which `paused` and the thread `_attend` stop and start."""
        self._model: Model | None = None
        self._query: StreamingQuery | None = None
        self._watch = watch
        self._thread: threading.Thread | None = None

    def classify(self, folder: Path, *, at_once: bool = False) -> None:
        """Classify with the model in the folder from now on. The JVM is warmed up for the model
        first, unless `at_once`. Raises what Spark raises, and TimeoutError when the query does not
        start."""
        # At the end of the pause, the query starts with the new model.
        with self.paused():
            model = batch.load(self._spark, folder)
            if not at_once:
                self._warm_up(model)
            self._model = model
        if self._thread is None:
            self._thread = self._watch.thread("what starts the query again", self._attend)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the query while the block lasts: in real-time mode its tasks leave no room for
        others. It goes on afterwards, if there is a model. Raises what `classify` raises."""
        with self._lock:
            if self._query is not None:
                self._query.stop()
            try:
                yield
            finally:
                if self._model is not None:
                    self._start()

    def _start(self) -> None:
        """Start the query, and return when it reads. Raises its error, or TimeoutError."""
        query = self._query = self._written(self._judged(self._messages()))

        def reads() -> bool:
            """Whether the query reads, or has ended already."""
            return not query.isActive or bool(query.status["isTriggerActive"])

        if not retry.until(reads, timeout_s=_START_TIMEOUT_S, period_s=0.02):
            query.stop()
            raise TimeoutError(f"the query does not start within {_START_TIMEOUT_S:g} s")
        if (error := query.exception()) is not None:
            raise error
        self._note(failing_since_s=None, failure=None)

    def _note(self, **changes: Any) -> None:
        """Change the state, and write it to the file STATE."""
        self._state |= changes
        replace_file(self._file, json.dumps(self._state))

    def _messages(self) -> DataFrame:
        """Read the topic of records as a stream, from the checkpoint's place or else from the
        beginning."""
        reader = self._spark.readStream.format("kafka").options(
            **_CLIENT,
            **{
                "kafka.bootstrap.servers": self._broker.bootstrap,
                "subscribe": self._broker.records,
                "startingOffsets": "earliest",
            },
        )
        if self._parameters["trigger"] == MICRO_BATCH:
            reader = reader.option("maxOffsetsPerTrigger", self._parameters["most_records"])
        return reader.load()

    def _judged(self, messages: DataFrame) -> DataFrame:
        """Make the answers to messages: verdicts and dead letters."""
        assert self._model is not None
        judged = self._model.tree.transform(columns.parsed(messages))
        return columns.answered(judged, self._model.labels, self._broker)

    def _written(self, answers: DataFrame) -> StreamingQuery:
        """Start the query that writes the answers to Kafka."""
        writer = (
            answers.writeStream.format("kafka")
            .options(**_CLIENT)
            .option("kafka.bootstrap.servers", self._broker.bootstrap)
            .option("checkpointLocation", str(self._checkpoint))
        )
        if self._parameters["trigger"] == REAL_TIME:
            every = f"{round(self._parameters['checkpoint_s'] * 1000)} milliseconds"
            trigger: dict[str, Any] = {"realTime": every}
            writer = writer.outputMode("update")
        else:
            trigger = {"processingTime": "0 seconds"}
        return writer.trigger(**trigger).start()

    def _warm_up(self, model: Model) -> None:
        """Let the JVM compile the code that judges records before the first record comes."""
        judged = model.tree.transform(columns.parsed(columns.made(self._spark, _WARM_UP_RECORDS)))
        answers = columns.answered(judged, model.labels, self._broker)
        answers.write.format("noop").mode("overwrite").save()

    def _attend(self) -> None:
        """Start the query again whenever it has failed, for ever."""
        pause = threading.Event()
        while True:
            pause.wait(_AGAIN_S)
            with self._lock:
                if self._query is not None and not self._query.isActive:
                    self._again()

    def _again(self) -> None:
        """Note that the query has failed, and start it again."""
        assert self._query is not None
        self._failed(self._query.exception())
        self._note(restarts=self._state["restarts"] + 1)
        try:
            self._start()
        except Exception as error:
            # Whatever Spark raises: workers may be away, brokers too.
            self._failed(error)

    def _failed(self, error: Exception | None) -> None:
        """Note why the query fails (None: it has ended without an error), and since when."""
        since_s = self._state["failing_since_s"] or time.monotonic()
        self._note(failing_since_s=since_s, failure=str(error or "it has ended"))
        print(f"the query fails: {self._state['failure']}", flush=True)
