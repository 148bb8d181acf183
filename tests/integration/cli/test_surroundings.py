"""Odd surroundings of the command: locales, encodings, readers that go away, little memory."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.command import SFCPERF
from support.records.packages import PLAIN, packed


def sh(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", script, SFCPERF],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.gate_runs(1)
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


# With -v 250000, OpenBLAS looped without end where it was loaded.
@pytest.mark.parametrize("limit", ["-v 20000", "-v 250000", "-d 60000"])
def test_too_little_memory(limit: str) -> None:
    done = sh(f'ulimit {limit}; exec "$0" plan sfcperf-fig8')
    option, kib = limit.split()
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.splitlines() == [
        f"not enough memory: `ulimit {option}` allows {int(kib) // 1024} MiB",
        f"hint: allow 512 MiB or more: `ulimit {option} 524288`",
    ]


@pytest.mark.exhaustive
def test_as_much_memory_as_is_asked_for(tmp_path: Path) -> None:
    package = packed(tmp_path, PLAIN)
    done = sh(f'ulimit -v 524288 -d 524288; "$0" plan quickstart && "$0" verify {package}')
    assert (done.returncode, done.stderr) == (0, "")


def test_a_user_without_name_and_home_folder() -> None:
    """As in a container that was started with a number for a user."""
    no_home = "unshare -U --map-user=12345 env -u HOME -u SFCPERF_STATE_DIR"
    done = sh(f'{no_home} "$0" clean')
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)
    assert "SFCPERF_STATE_DIR" in done.stderr
