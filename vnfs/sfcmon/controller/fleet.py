"""All switches of the state: a session for each, a collector for each that is monitored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sfcperf.errors import DeploymentError
from sfcperf.vnfs.sfcmon.controller.collector import Collector
from sfcperf.vnfs.sfcmon.controller.entries import entries
from sfcperf.vnfs.sfcmon.controller.model import State
from sfcperf.vnfs.sfcmon.controller.session import Session
from sfcperf.vnfs.sfcmon.controller.tables import Phase
from sfcperf.vnfs.sfcmon.controller.window_log import WindowLog
from sfcperf.watched import Watch

RETRY_S = 1.0
"""Pause before switches are written to again that could not be."""
_STOP_TIMEOUT_S = 5.0


class Fleet:
    """Makes the switches what the state says. `take` hands it each new state; `run`, a task, writes
    to the switches; `stop` ends windows and connections."""

    def __init__(self, log: WindowLog, watch: Watch) -> None:
        """`watch` supervises the tasks of sessions and collectors; it is over before `stop`."""
        self._log = log
        self._watch = watch
        self._sessions: dict[str, tuple[Session, asyncio.Task[None]]] = {}
        self._collectors: dict[str, tuple[Collector, asyncio.Task[None]]] = {}
        # How many states were taken, and how many of them `run` is done with.
        self._asked = self._done = 0
        self._taking = asyncio.Lock()
        self._wake = asyncio.Event()
        self._news = asyncio.Condition()

    # --- the state ---

    async def take(self, current: Callable[[], State]) -> None:
        """Take what `current` gives as the state from now on; `settled` says when it was
        written."""
        # States are taken one after the other. Each is asked for only when its turn has come, so
        # that an older one does not come after a newer one.
        async with self._taking:
            await self._take(current())

    async def _take(self, state: State) -> None:
        """End sessions of switches that are gone or described otherwise, begin new ones, and tell
        each which entries its switch must have."""
        wanted = await asyncio.to_thread(entries, state)
        for name in list(self._sessions):
            switch = state.switches.get(name)
            if switch is None or not self._sessions[name][0].serves(switch):
                await self._end_collector(name)
                await self._finish(self._sessions.pop(name)[1])
        for name, switch in state.switches.items():
            if name not in self._sessions:
                session = Session(name, switch, self._wake.set)
                task = self._watch.task(f"the session of switch {name}", session.run())
                self._sessions[name] = (session, task)
            self._sessions[name][0].want(wanted[name])
        await self._take_monitoring(state)
        self._asked += 1
        self._wake.set()

    async def _take_monitoring(self, state: State) -> None:
        """End collectors that are not wanted any more, give the others their settings, and begin
        new ones."""
        monitored = {name: each for name, each in state.monitoring.items() if each.enabled}
        for name in list(self._collectors):
            if name not in monitored or self._collectors[name][0].thrift != (
                state.switches[name].thrift
            ):
                await self._end_collector(name)
        for name, settings in monitored.items():
            if name in self._collectors:
                self._collectors[name][0].configure(settings)
                continue
            session, thrift = self._sessions[name][0], state.switches[name].thrift
            assert thrift is not None, "references.problems refuses it"
            collector = Collector(session, settings, self._log, thrift)
            task = self._watch.task(
                f"the collector of switch {name}", collector.run(), may_return=True
            )
            self._collectors[name] = (collector, task)

    async def settled(self, timeout_s: float) -> None:
        """Wait until all switches that answer have what the state says, or the time is over."""
        request = self._asked
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s), self._news:
                await self._news.wait_for(lambda: self._done >= request)

    # --- its life ---

    async def run(self) -> None:
        """Write to switches, whenever there is something to write, until it is cancelled. A switch
        for which that fails is tried again after RETRY_S at the latest."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(RETRY_S):
                    await self._wake.wait()
            self._wake.clear()
            request = self._asked
            behind = [each for each, _ in self._sessions.values() if each.needs_writing]
            for phase in Phase:
                written = await asyncio.gather(*(session.write(phase) for session in behind))
                # Where a phase failed, its rest comes before the next one: such a switch is left
                # out of the next phases.
                behind = [session for session, done in zip(behind, written, strict=True) if done]
            async with self._news:
                # Nobody waits for switches that failed.
                self._done = request
                self._news.notify_all()

    async def stop(self) -> None:
        """End windows and connections; the switches go on as they are."""
        for collector, _ in self._collectors.values():
            collector.stop()
        if tasks := [task for _, task in self._collectors.values()]:
            await asyncio.wait(tasks, timeout=_STOP_TIMEOUT_S)
        for _, task in (*self._collectors.values(), *self._sessions.values()):
            await self._finish(task)

    async def _end_collector(self, name: str) -> None:
        """End the collector of a switch, if it has one, and the open window with it."""
        if name in self._collectors:
            collector, task = self._collectors.pop(name)
            collector.stop()
            await asyncio.wait({task}, timeout=_STOP_TIMEOUT_S)
            await self._finish(task)

    async def _finish(self, task: asyncio.Task[None]) -> None:
        """Cancel a task, and wait a while for its end."""
        task.cancel()
        await asyncio.wait({task}, timeout=_STOP_TIMEOUT_S)

    # --- what others ask ---

    def status(self) -> dict[str, Any]:
        """Return the status of each switch, as the REST interface shows it."""
        return {
            name: {
                **session.status(),
                "monitoring": self._collectors[name][0].status()
                if name in self._collectors
                else None,
            }
            for name, (session, _) in self._sessions.items()
        }

    def session(self, name: str) -> Session:
        """Return the session of a switch. Raises DeploymentError if the controller is not
        connecting to it yet."""
        if name not in self._sessions:
            raise DeploymentError(f"switch {name}: not connected yet")
        return self._sessions[name][0]

    def collector(self, name: str) -> Collector:
        """Return the collector of a switch. Raises DeploymentError if the switch is not
        monitored."""
        if name not in self._collectors:
            raise DeploymentError(f"switch {name!r} is not monitored")
        return self._collectors[name][0]
