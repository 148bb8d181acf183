"""The process of a rule interface: its REST server.

    python -m sfcperf.vnfs.rule_interface.server

It is started by RunningRules, and ends with it. The first line on standard input is the
ServerSettings as JSON; answers follow there to the calls that it writes to standard output (see
`keeper`).
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
from dataclasses import dataclass
from typing import Any

from sfcperf.environment.parent import end_with
from sfcperf.rest.server import Server
from sfcperf.vnfs.rule_interface.api import DataPlaneFailed, application
from sfcperf.vnfs.rule_interface.policy import TICK_S
from sfcperf.watched import Watch

CALLS_AT_ONCE = 1000
"""Most calls in a line to the keeper."""
_LONGEST_LINE = 1 << 26
"""Most bytes in a line from the keeper."""


@dataclass(frozen=True)
class ServerSettings:
    """What the process needs to know."""

    parent: int
    """Process id of the one that starts it."""
    socket: int
    """Descriptor of the listening socket."""
    token: str
    limits: dict[str, Any]
    """`max_ttl_s`, and what the status repeats: `max_rules`, `on_failure`."""


class KeeperClient:
    """The RuleKeeper as this process sees it. Requests call `ask`; the task `run` sends the calls,
    those that wait at the same time together."""

    def __init__(self, answers: asyncio.StreamReader) -> None:
        self._answers = answers
        self._waiting: list[tuple[list[Any], asyncio.Future[Any]]] = []
        """Calls that were not sent yet, and who waits for their answers."""
        self._wake = asyncio.Event()
        """Set while calls wait."""

    async def ask(self, *call: Any) -> Any:
        """Send a call to the keeper, and return its answer. Raises DataPlaneFailed."""
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((list(call), answered))
        self._wake.set()
        answer = await answered
        if "error" in answer:
            raise DataPlaneFailed(answer["error"])
        return answer

    async def run(self) -> None:
        """Send calls, and hand out their answers, until the keeper is gone."""
        while True:
            await self._wake.wait()
            calls = self._waiting[:CALLS_AT_ONCE]
            del self._waiting[:CALLS_AT_ONCE]
            if not self._waiting:
                self._wake.clear()
            tell([call for call, _ in calls])
            line = await self._answers.readline()
            gone = {"error": "sfcperf has ended"}
            answers = json.loads(line) if line else [gone] * len(calls)
            for (_, answered), answer in zip(calls, answers, strict=True):
                if not answered.cancelled():
                    answered.set_result(answer)
            if not line:
                return


def tell(message: Any) -> None:
    """Write a message to sfcperf as a line of JSON, at once, because sfcperf waits for it."""
    sys.stdout.write(json.dumps(message, separators=(",", ":")) + "\n")
    sys.stdout.flush()


async def _tick(keeper: KeeperClient) -> None:
    """Tell the keeper, every TICK_S, that this process works."""
    while True:
        try:
            await keeper.ask("tick")
        except DataPlaneFailed as error:
            print(f"the data plane: {error}", file=sys.stderr, flush=True)
        await asyncio.sleep(TICK_S)


async def serve() -> None:
    """Serve requests until SIGTERM, the end of standard input, or the end of a task that is
    needed."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_LONGEST_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    start = ServerSettings(**json.loads(await reader.readline()))
    # If sfcperf is gone already, nobody would answer this process, and `sfcperf clean` knows
    # nothing of it.
    if not end_with(start.parent, signal.SIGKILL):
        return
    keeper = KeeperClient(reader)
    app = application(keeper.ask, start.token, start.limits)
    server = Server(app, lambda: tell("ready"))

    def end(_: object = None) -> None:
        server.should_exit = True

    loop.add_signal_handler(signal.SIGTERM, end)
    watch = Watch()
    tasks = [
        watch.task("the conversation with sfcperf", keeper.run()),
        watch.task("the lease of the data plane", _tick(keeper)),
    ]
    await server.serve([socket.socket(fileno=start.socket)])
    watch.over()
    for task in tasks:
        task.cancel()
    if watch.problem is not None:
        print(watch.problem, file=sys.stderr, flush=True)


if __name__ == "__main__":
    asyncio.run(serve())
