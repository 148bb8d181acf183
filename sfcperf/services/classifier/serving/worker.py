"""Worker: the part of the serving layer that reads verdicts and sets rules."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import Message, TopicPartition

from sfcperf.errors import MeasurementError
from sfcperf.services.classifier import verdicts
from sfcperf.services.classifier.engine import Broker
from sfcperf.services.classifier.kafka_client import (
    TIMEOUT_S,
    TopicEnds,
    consumer,
    place_of,
    position_after,
)
from sfcperf.services.classifier.serving.interfaces import INVALID, RequestRefused, RuleSetter
from sfcperf.services.classifier.serving.latencies import Latencies
from sfcperf.services.classifier.serving.offsets import Offsets
from sfcperf.services.classifier.serving.policy import Policy
from sfcperf.services.classifier.serving.session import Session
from sfcperf.services.classifier.skipped import SkippedReport
from sfcperf.services.classifier.verdicts import Verdict
from sfcperf.traffic.labels import BENIGN
from sfcperf.vnfs.rule_interface.rules import Rule
from sfcperf.vnfs.rule_interface.store import Reason

MOST_AT_ONCE = 1000
"""How many verdicts are handled together. At the end of a window many come, and the rules of the
first wait for the last of these. A request costs about as much as a hundred rules."""
MOST_LABELS = 1000
"""How many labels a session may have; a verdict with a further one is taken for a stranger's."""
_IDLE_S = 0.05
_MS_PER_S = 1000
_NS_PER_MS = 1_000_000
_POSITION = re.compile(rb"[0-9]{1,19}")

COUNTERS = (
    "verdicts_malicious",
    "verdicts_benign",
    "verdicts_repeated",
    "verdicts_malformed",
    "records_poisoned",
    "records_of_before",
    "dead_letters_malformed",
    "rules_sent",
    "rules_refused",
    *(f"rules_refused_{reason}" for reason in (*Reason, INVALID)),
    "rules_withheld",
    "sends_retried",
)


class Malformed(Exception):
    """A message that is neither a verdict nor a dead letter; the text says why."""


class _Progress:
    """What has been done in one session. Latencies are in milliseconds, see `session.Status`."""

    def __init__(self, session: Session) -> None:
        partitions = len(session.records_from)
        self.judged = [Offsets() for _ in range(partitions)]
        """For each partition of records: offsets of those whose verdict is known."""
        self.buried = [Offsets() for _ in range(partitions)]
        """For each partition of records: offsets of those whose dead letter is known."""
        self.records = 0
        """Number of records whose verdict or dead letter has had its effect."""
        self.labels: Counter[str] = Counter()
        """Number of verdicts by label."""
        self.poisoned = 0
        """Number of dead letters."""
        self.verdict, self.in_force, self.first_packet = Latencies(), Latencies(), Latencies()
        self.problem: str | None = None
        """Why rules could not be set; None if all could."""


class Worker:
    """Reads verdicts and sets rules in one thread (`run`). Other threads may ask it meanwhile, give
    it the next session (`begin`), and end it (`stop`)."""

    def __init__(self, broker: Broker, session: Session, counters: Mapping[str, int]) -> None:
        """The messages of `session` are read from their beginning; `counters` are the values at
        that time."""
        self._broker = broker
        self._consumer = consumer(broker.bootstrap, f"{broker.group}-serving")
        self._ends = TopicEnds(broker.bootstrap)
        self._skipped = SkippedReport()
        self._next: Session | None = None
        """Session that was given to `begin` and that `run` has not taken yet."""
        self._changed = threading.Event()
        """Wakes a pause: there is another session, or the worker is to end."""
        self._taken = threading.Condition()
        """Guards `_next`; notified when that was taken, or when the worker is to end."""
        self._stopping = False
        self._counters: Counter[str] = Counter(counters)
        self._take(session)

    # --- asked by other threads ---

    def begin(self, session: Session) -> None:
        """Begin a session; return when it is under way, and nothing of the one before has an effect
        any more. Return also when the worker ends."""
        with self._taken:
            self._next = session
            self._changed.set()
            self._taken.wait_for(lambda: self._next is not session or self._stopping)

    def stop(self) -> None:
        """Let `run` end."""
        self._stopping = True
        self._changed.set()
        with self._taken:
            self._taken.notify_all()

    def status(self) -> dict[str, Any]:
        """Return the session's progress and the process's counters, with the keys of `Status`."""
        progress, setter = self._progress, self._setter
        return {
            "records": progress.records,
            "poisoned": progress.poisoned,
            "labels": dict(progress.labels.copy()),
            "verdict": progress.verdict.summary(),
            "in_force": progress.in_force.summary(),
            "first_packet": progress.first_packet.summary(),
            "counters": self.counters(),
            "lag": self._lag(),
            "retrying": setter.retrying,
            "problem": progress.problem,
        }

    @property
    def session(self) -> Session:
        """The session that is under way."""
        return self._session

    def counters(self) -> dict[str, int]:
        """Counter -> its value, counted since the process was first started."""
        now = {"rules_withheld": self._policy.withheld, "sends_retried": self._setter.retries}
        return {name: self._counters[name] + now.get(name, 0) for name in COUNTERS}

    def _lag(self) -> int | None:
        """Records of the session that have had no effect yet; None while the broker does not
        answer."""
        progress, session = self._progress, self._session
        if not session.records_from:
            return 0
        try:
            there = self._ends.of(self._broker.records)
        except MeasurementError:
            return None
        return sum(there.values()) - sum(session.records_from) - progress.records

    # --- in the thread ---

    def run(self) -> None:
        """Read and handle messages until `stop`. Raises KafkaException."""
        self._assign()
        while not self._stopping:
            self._adopt()
            first = self._consumer.poll(_IDLE_S)
            if first is not None:
                self._handle([first, *self._consumer.consume(MOST_AT_ONCE - 1, 0)])
        self._consumer.close()

    def _take(self, session: Session) -> None:
        """Make the state of a new session."""
        self._session = session
        self._progress = _Progress(session)
        self._policy = Policy(session.limits.limits())
        self._setter = RuleSetter(session.targets, session.limits.ttl_s, self._pause)

    def _adopt(self) -> None:
        """Begin the next session, if one was given to `begin`."""
        with self._taken:
            if self._next is None:
                return
            self._counters = Counter(self.counters())
            self._take(self._next)
            self._changed.clear()
            self._assign()
            self._next = None
            self._taken.notify_all()

    def _assign(self) -> None:
        """Read messages from where the session says. What was committed before is read again after
        a restart, and `_committed` keeps its rules from being set again."""
        places = [
            TopicPartition(topic, number, offset)
            for topic, offsets in (
                (self._broker.verdicts, self._session.verdicts_from),
                (self._broker.dead_letters, self._session.dead_letters_from),
            )
            for number, offset in enumerate(offsets)
        ]
        # Messages before these offsets have had their effect. Negative: nothing was committed.
        self._committed = {
            (place.topic, place.partition): place.offset
            for place in (self._consumer.committed(places, TIMEOUT_S) if places else [])
        }
        self._consumer.assign(places)

    def _pause(self, seconds: float) -> bool:
        """Wait so many seconds. True, perhaps earlier: another session begins, or the worker is to
        end."""
        return self._changed.wait(seconds)

    def _handle(self, taken: Sequence[Message]) -> None:
        """Judge a batch of messages, set the rules that follow, and commit."""
        messages = [message for message in taken if message.error() is None]
        rules: dict[Rule, None] = {}
        causes: list[Verdict] = []
        new = 0
        for message in messages:
            is_letter = message.topic() == self._broker.dead_letters
            try:
                if is_letter:
                    new += self._bury(message)
                elif (verdict := self._new_verdict(message)) is not None:
                    new += 1
                    found = self._judge(message, verdict)
                    if found and self._is_ahead(message):
                        rules |= dict.fromkeys(found)
                        causes.append(verdict)
                    else:
                        # These rules were set before the process was started again.
                        self._counters["rules_sent"] += len(found) * len(self._session.targets)
            except Exception as error:
                # Anybody who reaches the broker can write anything. It costs this message.
                kind = "dead_letters" if is_letter else "verdicts"
                self._counters[f"{kind}_malformed"] += 1
                self._skipped.note(message, error)
        if rules and not self._set(list(rules)):
            return  # another session begins; this one's effects are of no use any more
        self._measure(causes)
        self._progress.records += new
        if messages:
            self._consumer.commit(offsets=position_after(messages), asynchronous=True)

    def _bury(self, letter: Message) -> bool:
        """Note a dead letter; return whether it is a new one. Raises Malformed, and what the client
        raises when it cannot read the headers."""
        headers: dict[str, Any] = dict(letter.headers() or ())
        record = (_position(headers.get("partition")), _position(headers.get("offset")))
        new = self._is_new(record, self._progress.buried)
        self._progress.poisoned += new
        self._counters["records_poisoned"] += new
        return new

    def _new_verdict(self, message: Message) -> Verdict | None:
        """Decode a verdict; None if it is not of this session or is known. Raises Malformed, and
        what decoding raises."""
        verdict = verdicts.decode(message.value() or b"")
        labels = self._progress.labels
        if verdict.label not in labels and len(labels) >= MOST_LABELS:
            raise Malformed(f"there are {MOST_LABELS} labels already")
        return verdict if self._is_new(verdict.record, self._progress.judged) else None

    def _is_new(self, record: tuple[int, int], known: Sequence[Offsets]) -> bool:
        """Whether a record is of this session and not yet among the known ones. After a restart of
        the speed layer some come again. Raises Malformed for a record that nobody has sent."""
        partition, offset = record
        if partition >= len(known) or offset < self._session.records_from[partition]:
            self._counters["records_of_before"] += 1
            return False
        # Most records follow directly on what is known. Only after a gap is the broker asked
        # whether the record exists.
        ahead = offset > max(
            self._progress.judged[partition].next, self._progress.buried[partition].next
        )
        if ahead and self._ends.reaches(self._broker.records, partition, offset) is False:
            raise Malformed(f"there is no record {offset} in partition {partition}")
        if not known[partition].add(offset):
            self._counters["verdicts_repeated"] += known is self._progress.judged
            return False
        return True

    def _is_ahead(self, message: Message) -> bool:
        """Whether the effect of a message was not committed yet before the process was started."""
        at = place_of(message)
        return at.offset >= self._committed.get((at.topic, at.partition), -1)

    def _judge(self, message: Message, verdict: Verdict) -> list[Rule]:
        """Count a verdict, and return the rules that follow from it; empty if none does. Raises
        ValueError for a flow that cannot exist; then it is not counted."""
        rules = self._policy.rules_for(verdict, self._seconds(message))
        written_ms: int = message.timestamp()[1]
        self._progress.labels[verdict.label] += 1
        self._progress.verdict.add(written_ms - verdict.recorded_ms)
        self._counters["verdicts_benign" if verdict.label == BENIGN else "verdicts_malicious"] += 1
        return rules

    def _seconds(self, message: Message) -> float:
        """When a verdict has its effect, by the monotonic clock. That is now; for a verdict whose
        rules were set before the process was started again, it is when the verdict was written.
        Only the wall clock tells that, and it may have been set meanwhile. The error is bounded: a
        verdict older than the life of a rule has nothing left to renew, and one from the future
        counts as one of now."""
        now_s = time.monotonic()
        if self._is_ahead(message):
            return now_s
        written_ms: int = message.timestamp()[1]
        return now_s - max(0.0, time.time() - written_ms / _MS_PER_S)

    def _set(self, rules: list[Rule]) -> bool:
        """Set rules at all interfaces, if there are any. Return False if that was given up, since
        another session begins or the worker ends."""
        if not self._session.targets:
            return True
        try:
            refused = self._setter.put(rules)
        except RequestRefused as error:
            self._progress.problem = str(error)
            # They are tried again with the next verdicts: some interfaces may lack them.
            for rule in rules:
                self._policy.refused(rule)
            return True
        if refused is None:
            return False
        self._counters["rules_sent"] += len(rules) * len(self._session.targets)
        for rule, reason in refused:
            self._policy.refused(rule)
            if reason == INVALID:
                self._progress.problem = f"a rule interface takes this for no rule: {rule}"
            self._counters["rules_refused"] += 1
            self._counters[f"rules_refused_{reason}"] += 1
        return True

    def _measure(self, causes: Sequence[Verdict]) -> None:
        """Note the latencies of verdicts whose rules are in force now. They end now, and all clocks
        are wall clocks."""
        if not self._session.targets:
            return
        now_ms = time.time_ns() // _NS_PER_MS
        for verdict in causes:
            self._progress.in_force.add(now_ms - verdict.recorded_ms)
            if verdict.kind == "early":
                self._progress.first_packet.add(now_ms - verdict.first_ns // _NS_PER_MS)


def _position(text: bytes | None) -> int:
    """Read a number from a header. Raises Malformed."""
    if text is None or not _POSITION.fullmatch(text):
        raise Malformed("its headers do not say which record it is")
    return int(text)
