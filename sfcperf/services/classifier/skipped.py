"""Writes messages that a process does not understand to its log, up to a limit."""

from __future__ import annotations

import sys

from confluent_kafka import Message

from sfcperf.services.classifier.kafka_client import place_of

MOST_LINES = 100
"""Most lines in the log. Strangers may write more messages; counters count all."""
_LONGEST_REASON = 200


class SkippedReport:
    """Reports skipped messages on stderr."""

    def __init__(self) -> None:
        self._lines = 0

    def note(self, message: Message, reason: object) -> None:
        """Report a message that is skipped, and why."""
        self._lines += 1
        if self._lines > MOST_LINES:
            return
        at = place_of(message)
        where = f"{at.topic}, partition {at.partition}, offset {at.offset}"
        text = f"skipped: {where}: {ascii(str(reason)[:_LONGEST_REASON])[1:-1]}"
        more = "; further ones are only counted" if self._lines == MOST_LINES else ""
        print(text + more, file=sys.stderr, flush=True)
