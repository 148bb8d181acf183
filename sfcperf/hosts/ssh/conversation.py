"""A conversation with a command on a host that is reached by SSH."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from sfcperf import waiting
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Conversation, ConversationOver
from sfcperf.hosts.ssh.loop import call

if TYPE_CHECKING:
    from sfcperf.hosts.ssh.link import Link
    from sfcperf.hosts.ssh.session import Lines, Session

_GRACE_S = 2.0


class SshConversation(Conversation):
    """A conversation with a command on a host that is reached by SSH. It ends at the latest with
    the connection through which the command was started."""

    def __init__(self, argv: Sequence[str], link: Link, session: Session, answers: Lines) -> None:
        """`answers` receives the standard output of `session`."""
        self.argv = tuple(argv)
        self._link = link
        self._session = session
        self._answers = answers

    @property
    def pid(self) -> int:
        """Process id on the host."""
        return self._session.pid

    def ask(self, question: bytes, timeout_s: float) -> bytes:
        """Send the question to the command, and return the next line of its stdout. Raises
        ConversationOver when command or connection has ended, MeasurementError after timeout_s."""
        try:
            return call(self._ask(question, timeout_s))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the command's stdin, and kill the command if it does not end by itself."""
        with waiting.shielded():
            call(self._close())

    async def _ask(self, question: bytes, timeout_s: float) -> bytes:
        """Send the question and wait for a whole line. A line without an end means that the command
        has ended."""
        self._session.write(question)
        try:
            answer = await asyncio.wait_for(self._answers.line(), timeout_s)
        except TimeoutError as error:
            raise MeasurementError(
                f"{self.argv[0]} did not answer within {timeout_s:g} s"
            ) from error
        if not answer.endswith(b"\n"):
            lost = f", and so has the connection to {self._session.host}"
            raise ConversationOver(f"{self.argv[0]} has ended{lost if self._session.lost else ''}")
        return answer[:-1]

    async def _close(self) -> None:
        """End the standard input; kill the command if it has not ended after _GRACE_S."""
        ended = self._session.ended
        self._session.feed(b"")
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(ended), _GRACE_S)
        if not ended.done():
            await self._link.end(self._session)
            self._session.abandon()
