"""The running machine: commands in, their output and status out."""

from __future__ import annotations

import base64
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from support.oldest_kernel import root_filesystem
from support.oldest_kernel.kernel import Kernel

BOOTS_WITHIN_S = 180.0
COMMAND_S = 120
MEMORY_MIB = 512
ANSWER_MARGIN_S = 20.0
"""A command that hangs is ended in the machine; only a machine that hangs itself takes longer."""


@dataclass(frozen=True)
class Answer:
    status: int
    said: str
    """stdout and stderr, as they came."""


class Machine:
    """A machine without disks and network; it is gone when its `with` block ends."""

    def __init__(
        self,
        kernel: Kernel,
        programs: Iterable[Path] = (),
        files: Mapping[str, bytes] | None = None,
        parameters: str = "",
    ) -> None:
        self.kernel = kernel
        self._programs = programs
        self._files = files or {}
        self._parameters = parameters
        self._number = 0
        self._unread = b""

    def __enter__(self) -> Machine:
        self._folder = tempfile.TemporaryDirectory(prefix="sfcperf-machine-")
        folder = Path(self._folder.name)
        root_filesystem.build(self.kernel, self._programs, self._files, folder / "root.cpio")
        self._console = folder / "console"
        self._process = subprocess.Popen(
            self._command(folder / "root.cpio"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            self._answer(0, BOOTS_WITHIN_S)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def run(self, commands: str, seconds: int = COMMAND_S) -> Answer:
        """Run shell commands; whatever they leave in the background goes on."""
        assert self._process.stdin is not None
        self._number += 1
        coded = base64.b64encode(commands.encode()).decode()
        self._process.stdin.write(f"{self._number} {seconds} {coded}\n".encode())
        self._process.stdin.flush()
        return self._answer(self._number, seconds + ANSWER_MARGIN_S)

    def check(self, commands: str, seconds: int = COMMAND_S) -> str:
        """The same for commands that must succeed, each of them; what they said."""
        answer = self.run(f"set -e\n{commands}", seconds)
        assert answer.status == 0, f"status {answer.status} of\n{commands}\n{answer.said}"
        return answer.said

    def console(self) -> str:
        """What the kernel said."""
        return self._console.read_text(errors="replace") if self._console.exists() else ""

    def _command(self, root: Path) -> list[str]:
        return [
            *("setpriv", "--pdeathsig", "KILL"),
            *("qemu-system-x86_64", "-machine", "q35", "-accel", "tcg", "-cpu", "max"),
            *("-smp", "1", "-m", str(MEMORY_MIB), "-nodefaults", "-no-reboot"),
            *("-display", "none", "-serial", f"file:{self._console}", "-serial", "stdio"),
            *("-kernel", str(self.kernel.image), "-initrd", str(root), "-append"),
            f"console=ttyS0 panic=-1 mitigations=off no_timer_check {self._parameters}",
        ]

    def _answer(self, number: int, seconds: float) -> Answer:
        said, status, output = self._line(seconds).split(b" ")
        assert int(said) == number, f"answer {said!r} to request {number}"
        return Answer(int(status), base64.b64decode(output).decode(errors="replace"))

    def _line(self, seconds: float) -> bytes:
        assert self._process.stdout is not None
        deadline = time.monotonic() + seconds
        while b"\n" not in self._unread:
            left = max(deadline - time.monotonic(), 0)
            ready, _, _ = select.select([self._process.stdout], [], [], left)
            more = os.read(self._process.stdout.fileno(), 1 << 16) if ready else b""
            if not more:
                what = "ended" if ready else "is silent"
                raise AssertionError(f"the machine {what}; its console:\n{self.console()[-4000:]}")
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        return line.rstrip(b"\r\n")

    def _end(self) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()
        self._folder.cleanup()
