"""What `--help` prints, as a terminal of 80 columns shows it."""

from __future__ import annotations

import re

import pytest

from sfcperf.cli.commands import contexts


@pytest.fixture(autouse=True)
def _usual_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_lines_are_short_and_nothing_is_cut_off_or_named_by_its_type() -> None:
    for context in contexts():
        lines = context.get_help().splitlines()
        assert [line for line in lines if len(line) > 80] == []
        # Of a first sentence too long for the list of verbs, click shows the beginning.
        assert [line for line in lines if line.endswith("...") and "Usage:" not in line] == []
        assert re.findall(r"<(?:str|int|float|path)\b.*>", "\n".join(lines)) == []
