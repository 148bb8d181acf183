"""Help on a terminal of 80 columns, and manual pages, judged by the programs that show them: groff
and lexgrog (of man-db)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sfcperf.cli import man_pages
from sfcperf.cli.commands import EXIT_CODES, contexts
from sfcperf.errors import ExitCode


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return man_pages.write(tmp_path_factory.mktemp("man") / "man1")


def run(*argv: str | Path) -> str:
    """What a program prints, warnings too."""
    if shutil.which(str(argv[0])) is None:
        pytest.skip(f"needs {argv[0]} (make setup)")
    done = subprocess.run(
        argv,
        env={**os.environ, "GROFF_NO_SGR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


def dense(text: str) -> str:
    return re.sub(r"\s+", "", text)


def test_every_verb_has_a_page_that_man_finds(files: list[Path]) -> None:
    names = [context.command_path.replace(" ", "-") for context in contexts()]
    assert [file.name for file in files] == [f"{name}.1" for name in names]
    listed = run("lexgrog", *files)
    assert re.findall(r': "([\w-]+) - \w', listed) == names


def test_groff_has_nothing_to_complain_about(files: list[Path]) -> None:
    assert run("groff", "-k", "-ww", "-z", "-man", "-Tutf8", *files) == ""


def test_they_show_all_that_the_help_does(files: list[Path]) -> None:
    # No hyphens that are not in the text; backspaces would make bold.
    shown = dense(run("groff", "-k", "-man", "-Tutf8", "-rHY=0", "-P-cbou", *files))
    for context in contexts():
        records = [p.get_help_record(context) for p in context.command.params]
        for text in (context.command.help, *(part for record in records for part in record or ())):
            assert dense(text.replace("`", "")) in shown, context.command_path


def test_every_exit_code_is_explained() -> None:
    assert set(EXIT_CODES) == set(ExitCode)


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
