"""A conversation with a process of this machine, through its pipes."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Sequence

from sfcperf import waiting
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Conversation, ConversationOver
from sfcperf.hosts.process import has_ended

_READ_BYTES = 1 << 16
_GRACE_S = 2.0


class LocalConversation(Conversation):
    """A conversation with a child of this process."""

    def __init__(self, argv: Sequence[str], popen: subprocess.Popen[bytes]) -> None:
        """`popen` is the child; its standard input and output are pipes."""
        assert popen.stdin is not None and popen.stdout is not None
        self.argv = tuple(argv)
        self._popen = popen
        self._stdin, self._stdout = popen.stdin, popen.stdout
        os.set_blocking(self._stdin.fileno(), False)  # the child's end still blocks

    @property
    def pid(self) -> int:
        """Process id."""
        return self._popen.pid

    def ask(self, question: bytes, timeout_s: float) -> bytes:
        """Write the question to the process's stdin, and return the next line of its stdout. Raises
        ConversationOver when the process has ended, MeasurementError after timeout_s."""
        if self._stdin.closed:
            raise self._over()
        try:
            return self._answer(question, time.monotonic() + timeout_s)
        except TimeoutError as error:
            self.close()
            raise MeasurementError(
                f"{self.argv[0]} did not answer within {timeout_s:g} s"
            ) from error
        except (BrokenPipeError, EOFError) as error:
            self.close()
            raise self._over() from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the process's stdin, and kill the process if it does not end by itself."""
        self._stdin.close()
        with waiting.shielded():
            if not has_ended(self._popen, _GRACE_S):
                self._popen.kill()
        self._popen.wait()
        self._stdout.close()

    def _answer(self, question: bytes, deadline: float) -> bytes:
        """Send the question and read until a line is complete. Reading goes on while the question
        is sent, so that neither side blocks the other. Raises TimeoutError, EOFError,
        BrokenPipeError."""
        stdin, stdout = self._stdin.fileno(), self._stdout.fileno()
        events = {stdout: select.POLLIN, stdin: select.POLLOUT}
        unsent, answer = memoryview(question), b""
        while unsent or not answer.endswith(b"\n"):
            left_s = deadline - time.monotonic()
            ready = waiting.poll(events, left_s) if left_s > 0 else set()
            if not ready:
                raise TimeoutError
            if stdin in ready:
                unsent = unsent[os.write(stdin, unsent) :]
                if not unsent:
                    del events[stdin]
            if stdout in ready:
                came = os.read(stdout, _READ_BYTES)
                if not came:
                    raise EOFError
                answer += came
        return answer[:-1]

    def _over(self) -> ConversationOver:
        """Return the error for a process that has ended; call `close` first."""
        return ConversationOver(f"{self.argv[0]} has ended with {self._popen.returncode}")
