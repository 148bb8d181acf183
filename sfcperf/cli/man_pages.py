"""Manual pages of the program and of each verb, in the macros of man(7).

The build of the wheel makes them, with no package installed but typer; in the source tree,
`python -m sfcperf.cli.man_pages FOLDER` does. See docs/decisions/0030.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Any

import sfcperf
from sfcperf.cli.commands import EXIT_CODES, contexts


def write(folder: Path) -> list[Path]:
    """Write the pages into a folder, which is created if needed; return their files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for context in contexts():
        file = folder / f"{_name(context)}.1"
        file.write_text("\n".join(page(context)) + "\n", encoding="utf-8")
        files.append(file)
    return files


def page(context: Any) -> Iterator[str]:
    """Yield the lines of a command's manual page. `context`: the command's context of click."""
    command, name = context.command, _name(context)
    summary = _summary(command)
    yield f'.TH "{_text(name.upper())}" 1 "" "SFCPerf {sfcperf.__version__}" "User Commands"'
    yield ".SH NAME"
    yield f"{_text(name)} \\- {_text(summary[0].lower() + summary[1:].removesuffix('.'))}"
    yield ".SH SYNOPSIS"
    pieces = " ".join(command.collect_usage_pieces(context))
    yield f".B {_text(context.command_path)}"
    yield _text(re.sub("[{}]", "", pieces))
    yield ".SH DESCRIPTION"
    for paragraph in re.split(r"\n\n+", cleandoc(command.help)):
        yield ".PP"
        yield _text(re.sub(r"\s+", " ", paragraph))
    # (term, meaning) of each parameter.
    records = [r for p in command.get_params(context) if (r := p.get_help_record(context))]
    options = [r for r in records if r[0].startswith("-")]
    yield from _list("ARGUMENTS", (r for r in records if r not in options))
    yield from _list("OPTIONS", options)
    verbs = getattr(command, "commands", {}).items()
    yield from _list(
        "COMMANDS", ((f"{name}-{verb}(1)", _summary(command)) for verb, command in verbs)
    )
    if context.parent is None:
        yield from _list("EXIT STATUS", ((str(int(c)), text) for c, text in EXIT_CODES.items()))
    else:
        yield ".SH SEE ALSO"
        yield f".BR {_text(_name(context.parent))} (1)"


def _list(heading: str, records: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of a section with a list of terms and their meanings. Without records, there
    is no section."""
    for place, (term, meaning) in enumerate(records):
        if place == 0:
            yield f".SH {heading}"
        yield ".TP"
        yield f"\\fB{_text(term)}\\fR"
        yield _text(re.sub(r"\s+", " ", meaning))


def _summary(command: Any) -> str:
    """Return the first sentence of a command's help."""
    return str(command.get_short_help_str(limit=10_000))


def _name(context: Any) -> str:
    """Return the name of a command's page, such as `sfcperf-kibana-import`."""
    return str(context.command_path).replace(" ", "-")


def _text(text: str) -> str:
    """Escape a text, so that the formatter takes no part of it for a command. What is in backticks
    becomes bold."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub("`([^`]+)`", r"\\fB\1\\fR", text)
    return f"\\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    write(Path(sys.argv[1]))
