"""The process that controls a switch: loads the program, writes tables, ends windows, counts.

It takes signals, prints lines and writes a stats file as sfc-sfcmon does, so that one reader serves
both (running.py). It does not end by itself when the switch does: who has started both sees that.
It does when the process that has started it is gone: no namespace ends it where the switch is on
another machine.

Run by `python -m sfcperf.vnfs.sfcmon.bmv2_engine SETTINGS --stats FILE`; SETTINGS is a JSON file.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfcperf.vnfs.sfcmon.bmv2.programs import Program
from sfcperf.vnfs.sfcmon.bmv2.reading import counters
from sfcperf.vnfs.sfcmon.bmv2.registers import Registers
from sfcperf.vnfs.sfcmon.bmv2.switch_settings import Settings
from sfcperf.vnfs.sfcmon.bmv2.windows import NoWindows, SketchWindows, TableWindows, Windows

if TYPE_CHECKING:
    from finsy import Switch

    from sfcperf.vnfs.sfcmon.controller.entries import Entry

_MS_PER_S = 1000
_ENDING = (signal.SIGTERM, signal.SIGINT)
_SIGNALS = (*_ENDING, signal.SIGUSR1, signal.SIGUSR2)
_PARENT_POLL_S = 1.0
_parent = os.getppid()


class Engine:
    """Ends the windows of a switch that has its program and its tables, and reports its counters.
    `control` makes it and calls `run`."""

    def __init__(self, settings: Settings, switch: Switch, windows: Windows, stats: Path) -> None:
        self._window_s = settings.window_ms / _MS_PER_S
        self._switch = switch
        self._windows = windows
        self._stats = stats
        # How many reports were written, and how many windows have ended.
        self._reports = self._ended = 0
        self._signals: asyncio.Queue[int] = asyncio.Queue()

    async def run(self) -> None:
        """Open the first window, report the counters, then serve signals until SIGTERM or SIGINT,
        and report once more."""
        for number in _SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self._signals.put_nowait, number)
        self._began_ns = await self._windows.begin()
        _print({"event": "ready"})
        await self._report()
        orphaned = asyncio.create_task(self._end_as_orphan())
        await self._serve()
        orphaned.cancel()
        await self._report()

    async def _end_as_orphan(self) -> None:
        """Have `_serve` return when the parent process has ended."""
        while not _orphaned():
            await asyncio.sleep(_PARENT_POLL_S)
        self._signals.put_nowait(signal.SIGTERM)

    async def _serve(self) -> None:
        """End windows in time, and serve signals: SIGUSR1 asks for a report, SIGUSR2 ends the open
        window, SIGTERM and SIGINT end the last one."""
        now_s = asyncio.get_running_loop().time
        end_s = now_s() + self._window_s
        while True:
            number = await self._next_signal(end_s - now_s())
            if number == signal.SIGUSR1:
                await self._report()
                continue
            await self._end_window(asked=number is not None)
            if number in _ENDING:
                return
            if number == signal.SIGUSR2:
                # The window that begins now gets its full length.
                end_s = now_s() + self._window_s
            # Windows that passed while the machine was busy are one long window.
            while end_s <= now_s():
                end_s += self._window_s

    async def _next_signal(self, timeout_s: float) -> int | None:
        """Return the number of the next signal; None when the time is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(max(timeout_s, 0)):
                return await self._signals.get()
        return None

    async def _end_window(self, *, asked: bool) -> None:
        """End the open window and print it; print nothing if the program does not monitor. `asked`:
        a signal asked for it."""
        ended = await self._windows.end()
        if ended is None:
            return
        _print(
            {
                "event": "window",
                "number": self._ended,
                "asked": asked,
                "start_ns": self._began_ns,
                **ended,
            }
        )
        self._ended += 1
        self._began_ns = ended["end_ns"]

    async def _report(self) -> None:
        """Write the switch's counters into the stats file and onto stdout."""
        self._reports += 1
        event = {
            "event": "counters",
            "sequence": self._reports,
            **await counters(self._switch),
            "windows": self._ended,
            "sequence_end": self._reports,
        }
        _write(self._stats, event)
        _print(event)


async def control(settings: Settings, stats: Path) -> None:
    """Load the program and control the switch until a signal ends it. Raises SfcperfError, and
    what finsy raises."""
    import finsy

    program = Program(settings.program)
    # Without p4force: finsy would load the program again, and so clear the tables, whenever another
    # client had been the primary one in between.
    options = finsy.SwitchOptions(p4info=program.p4info, p4blob=program.json)
    with ExitStack() as stack:
        async with finsy.Switch("switch", settings.address, options) as switch:
            await _write_tables(switch, settings.entries)
            windows: Windows
            if program is Program.SKETCHES:
                socket = Path(settings.thrift_socket) if settings.thrift_socket else None
                registers = stack.enter_context(Registers(None, socket=socket))
                windows = SketchWindows(
                    switch,
                    registers,
                    settings.thresholds,
                    settings.sizes,
                    settings.adaptive_flows,
                )
            elif program is Program.TABLE:
                windows = TableWindows(switch, settings.table_entries, settings.overhead_bytes)
            else:
                windows = NoWindows()
            await Engine(settings, switch, windows, stats).run()


async def _write_tables(switch: Switch, entries: Sequence[Mapping[str, Any]]) -> None:
    """Write all entries into the tables of the new switch: rules of the classifier last, so that no
    packet enters a path that is not there. Raises what finsy raises."""
    if not entries:
        return
    from sfcperf.vnfs.sfcmon.controller.tables import Phase, to_p4, updates

    wanted = [_entry(**entry) for entry in entries]
    for phase in (Phase.ADD, Phase.CLASSIFY):
        todo = updates(phase, [], wanted)
        await switch.insert([to_p4(entry) for entry in todo.insert])
        await switch.modify([to_p4(entry) for entry in todo.modify])


def _entry(*, key: Sequence[Any], parameters: Sequence[Sequence[Any]], **rest: Any) -> Entry:
    """Make an entry from its fields in JSON, whose lists become tuples."""
    from sfcperf.vnfs.sfcmon.controller.entries import Entry

    fields = tuple(
        (name, tuple(value) if isinstance(value, list) else value) for name, value in key
    )
    return Entry(key=fields, parameters=tuple((name, value) for name, value in parameters), **rest)


def _print(event: Mapping[str, Any]) -> None:
    print(json.dumps(event), flush=True)


def _write(file: Path, event: Mapping[str, Any]) -> None:
    """Replace the file as a whole: whoever reads it sees the old or the new one."""
    new = file.with_suffix(".new")
    new.write_text(json.dumps(event) + "\n")
    new.replace(file)


def _in_words(error: Exception) -> str:
    """Return the error in words, for the stats file."""
    from finsy import P4ClientError

    if isinstance(error, P4ClientError):
        return f"P4Runtime, {error.code.name}: {error.message.strip() or 'no reason is given'}"
    return str(error) or repr(error)


def _orphaned() -> bool:
    """Whether the process that has started this one has ended."""
    return os.getppid() != _parent


def main() -> int:
    """Control the switch that the command line describes: the file of the settings, `--stats` and
    its file. Returns the exit status, 1 after an error."""
    settings, stats = Settings.of_text(Path(sys.argv[1]).read_text()), Path(sys.argv[3])
    try:
        asyncio.run(control(settings, stats))
    except Exception as error:
        # Nobody sees a traceback here: the file is all that is read of this process.
        failed = {"event": "failed", "error": _in_words(error)}
        _write(stats, failed)
        _print(failed)
        return 1
    finally:
        if settings.thrift_socket and _orphaned():
            # The folder of sockets that lead to another machine, which nobody else removes now.
            shutil.rmtree(Path(settings.thrift_socket).parent, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
