"""Arguments, repetitions in turn, and output of a benchmark."""

from __future__ import annotations

import argparse
import json
import platform
import signal
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from _runner.row import Row, header, line
from sfcperf.errors import EnvironmentLacks

Side = TypeVar("Side", bound=Hashable)
Reading = TypeVar("Reading")


class Skipped(Exception):
    """A part cannot be measured on this machine; the message says why."""


@dataclass(frozen=True)
class Parameter:
    """An option of a benchmark. Without a default of another type it takes a word; False makes it a
    flag."""

    default: Any
    about: str
    type: Callable[[str], Any] = str


@dataclass(frozen=True)
class Run:
    """What a part is called with."""

    repetitions: int
    parameters: argparse.Namespace
    """By name."""

    def in_turn(
        self,
        sides: Mapping[Side, Any] | Iterable[Side],
        measure: Callable[[Any], Reading] = lambda side: side(),
        *,
        warm_up: bool = False,
    ) -> dict[Side, list[Reading]]:
        """Readings of all sides, which are measured one after the other in each repetition, so that
        a machine that gets slower meanwhile does so for all.

        `measure` gets the value of a side, or the side if they have none; by default, values are
        functions, which are called. `warm_up`: one more repetition, which does not count, comes
        first.
        """
        values = sides if isinstance(sides, Mapping) else {side: side for side in sides}
        found: dict[Side, list[Reading]] = {side: [] for side in values}
        for number in range(self.repetitions + warm_up):
            for side, value in values.items():
                reading = measure(value)
                if number >= warm_up:
                    found[side].append(reading)
        return found


Part = Callable[[Run], Iterator[Row]]


class Benchmark:
    """Parts with the number of their repetitions, by default; the benchmark has the name of its
    file, a part that of its function."""

    def __init__(
        self,
        about: str,
        parts: Mapping[Part, int],
        parameters: Mapping[str, Parameter] | None = None,
    ) -> None:
        self._about = about
        self._parts = {part.__name__.strip("_").replace("_", "-"): part for part in parts}
        self._repetitions = {part.__name__: count for part, count in parts.items()}
        self._parameters = parameters or {}
        self._name = Path(sys.argv[0]).stem

    def main(self) -> None:
        """Run what the arguments ask for; exit status 1 if a budget does not hold."""
        given = self._parser().parse_args()
        # What is deployed and started is removed before the end.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
        if given.table:
            print(f"Linux {platform.release()}, {platform.machine()}\n{header()}", flush=True)
        rows = [
            {"part": name, **row.document(), "took_s": took_s, "is_missed": row.is_missed}
            for name in given.parts or self._parts
            for row, took_s in self._rows(self._parts[name], given)
        ]
        if given.json:
            given.json.write_text(json.dumps({"benchmark": self._name, "rows": rows}, indent=1))
        sys.exit(any(row["is_missed"] for row in rows))

    def _rows(self, part: Part, given: argparse.Namespace) -> Iterator[tuple[Row, float | None]]:
        """Printed as they come, with the time that each took; None where it came with the one
        before."""
        repetitions = given.repetitions or self._repetitions[part.__name__]
        begin_s = time.monotonic()
        try:
            for row in part(Run(repetitions, given)):
                now_s = time.monotonic()
                took_s = now_s - begin_s if now_s - begin_s > 0.05 else None
                print(row.text(self._name, took_s), flush=True)
                yield row, took_s
                begin_s = time.monotonic()
        except (Skipped, EnvironmentLacks) as reason:
            print(line(self._name, ("",) * 4 + ("skipped", ""), str(reason)), flush=True)

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(
            description=self._about, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if len(self._parts) > 1:
            parts = "; ".join(f"{name}: {_summary(part)}" for name, part in self._parts.items())
            names = [[], *self._parts]
            how: dict[str, Any] = {"metavar": "PART", "help": parts.replace("%", "%%")}
            parser.add_argument("parts", nargs="*", choices=names, **how)
        else:
            parser.set_defaults(parts=[])
        counts = sorted(set(self._repetitions.values()))
        usual = " or ".join(map(str, counts))
        parser.add_argument("--repetitions", type=int, metavar="N", help=f"by default {usual}")
        parser.add_argument("--json", type=Path, metavar="FILE", help="write all readings there")
        parser.add_argument("--no-header", dest="table", action="store_false", help="rows alone")
        for name, parameter in self._parameters.items():
            kind: dict[str, Any] = {"type": parameter.type, "metavar": name.upper()}
            if parameter.default is False:
                kind = {"action": "store_true"}
            flag = f"--{name.replace('_', '-')}"
            parser.add_argument(flag, default=parameter.default, help=parameter.about, **kind)
        return parser


def _summary(part: Part) -> str:
    """The first paragraph of its docstring."""
    return " ".join((part.__doc__ or "").partition("\n\n")[0].split()).rstrip(".")
