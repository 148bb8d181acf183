"""Odd surroundings of the command: locales, encodings, readers that go away, little memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.records.packages import packed

COMMAND = str(Path(sys.executable).with_name("sfcperf"))


def sh(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", script, COMMAND],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "xx_YY"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "ascii"},
    ],
    ids=str,
)
def test_a_locale_without_utf_8(environment: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "µ.json"
    file.write_text('{"µ": 1}', encoding="utf-8")
    done = sh('"$0" plan quickstart', **environment)
    wrong = sh(f'cd {tmp_path} && "$0" validate *.json', **environment)
    assert "trials" in done.stdout
    assert (wrong.returncode, "not known here" in wrong.stderr) == (2, True)


def test_a_reader_that_goes_away() -> None:
    done = sh('"$0" plan sfcperf-fig8 | head -1 >/dev/null; exit ${PIPESTATUS[0]}')
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("kib", [20_000, 32_000, 40_000])
def test_too_little_memory(kib: int) -> None:
    done = sh(f'ulimit -v {kib}; exec "$0" plan sfcperf-fig8')
    assert done.returncode == 3
    assert "not enough memory" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("kib", [200_000, 400_000])
def test_too_little_memory_for_a_package(tmp_path: Path, kib: int) -> None:
    state = str(tmp_path / "state")
    done = sh(f'ulimit -v {kib}; exec "$0" verify {packed(tmp_path)}', SFCPERF_STATE_DIR=state)
    assert done.returncode == 3, done.stderr
    assert "ulimit -v" in done.stderr
    assert list(Path(state).iterdir()) == []
