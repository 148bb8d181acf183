"""The file of this machine's noise floor: in the folder for the state of runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from sfcperf.analysis.comparison import NoiseFloors, read_floors
from sfcperf.cli.terminal.lines import say
from sfcperf.control.state import StateDir
from sfcperf.errors import EnvironmentLacks, InputError, SfcperfError, system_errors_as
from sfcperf.input_file import read_input
from sfcperf.results.files import replace_file
from sfcperf.results.store import RunStore

NAME = "noise-floor.json"
MAX_BYTES = 64 << 20


def floor_path() -> Path:
    """Return the path of the file; it may not exist."""
    return StateDir().root / NAME


def known_floors() -> NoiseFloors:
    """Return the noise floors that are kept. If they cannot be read, print a warning and return
    none."""
    try:
        return _read(floor_path())
    except SfcperfError as error:
        say(f"warning: {error}")
        return NoiseFloors()


def _read(path: Path) -> NoiseFloors:
    """Read the file; if it does not exist, there are no floors. Raises InputError for a file that
    cannot be read or is damaged."""
    with system_errors_as(InputError, "the noise floor cannot be read", where=path):
        if not path.exists():
            return NoiseFloors()
    content = read_input(path, "the noise floor", max_bytes=MAX_BYTES)
    return read_floors(content.decode(errors="replace"), str(path))


def keep(stores: Sequence[RunStore]) -> Path:
    """Keep how much these A/A runs (runs of the same thing) differ; return the file. Raises
    InputError if they are not runs of the same thing, or if the file is damaged; EnvironmentLacks
    if it cannot be written."""
    path = floor_path()
    floors = _read(path).with_runs(stores)
    text = json.dumps(floors.document(), allow_nan=False, separators=(",", ":")) + "\n"
    with system_errors_as(EnvironmentLacks, "the noise floor cannot be kept", where=path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, text)
    return path


def keep_and_show(stores: Sequence[RunStore]) -> None:
    """Keep how much the A/A runs (runs of the same thing) that the user named differ, and print it.
    Raises InputError if they are not runs of the same thing."""
    from sfcperf.cli.terminal.console import console
    from sfcperf.comparison import floor_table

    path = keep(stores)
    console().print(floor_table(stores))
    print(f"kept in {path}: comparisons of one run per side use it")
