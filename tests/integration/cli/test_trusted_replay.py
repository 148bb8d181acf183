"""`sfcperf replay --trust`: what was shown is executed, and of the package nothing else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.attacks.replays import HOOK, MODULE, acme_run, package
from support.command import SFCPERF
from support.ended import ended

pytestmark = pytest.mark.root

SETTINGS = ("design.rounds=1", "design.warmup_rounds=0", "publish=[]")
SHORT = (*(word for setting in SETTINGS for word in ("--set", setting)), "--test", "t")
UNSTEADY = """
from pathlib import Path
from acme.probing.names import NAME
from sfcperf.active.ping import Ping
from sfcperf.errors import MeasurementError

class Acme(Ping):
    name = NAME
    title = "a probe whose first attempt fails"

    def measure(self, deployment, raw_dir):
        if not (mark := Path("attempted")).exists():
            mark.touch()
            raise MeasurementError("a cable was unplugged")
        return super().measure(deployment, raw_dir)
"""


def replay(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    (folder / "cwd").mkdir(exist_ok=True)
    return ended(
        [SFCPERF, "replay", *map(str, arguments)],
        timeout_s=300,
        folder=folder / "cwd",
        environment={
            **os.environ,
            "SFCPERF_STATE_DIR": str(folder / "state"),
            "TMPDIR": str(folder),
        },
    )


def test_it_executes_what_it_showed_and_no_other_code(tmp_path: Path) -> None:
    module = {**MODULE, "sitecustomize.py": HOOK, "usercustomize.py": HOOK, "x.pth": "import os"}
    module |= {"json.py": HOOK, "acme/unused.py": HOOK}
    made = package(tmp_path, module=module, run=acme_run)
    shown = replay(tmp_path, made, *SHORT)
    assert shown.returncode == 0, shown.stderr
    assert not list((tmp_path / "cwd").iterdir())
    # A replay that fails keeps no code for the next.
    done = replay(tmp_path, made, "--trust", *SHORT, "--set", "design.rounds=0")
    assert done.returncode == 2
    done = replay(tmp_path, made, "--trust", *SHORT)
    assert "1 trial" in done.stderr or "2 trials" in done.stderr, done.stderr
    assert done.returncode in (0, 1), done.stderr
    assert (tmp_path / "cwd" / "imported").read_text() == "acme"
    assert not (tmp_path / "cwd" / "hooked").exists()
    for line in shown.stdout.splitlines():
        if "SHA-256" in line or "probe " in line:
            assert line.strip() in done.stderr
    # Nothing was compiled into the files that were kept, which a resumed replay compares.
    assert not list((tmp_path / "cwd" / "results").rglob("__pycache__"))


def test_its_last_lines_tell_of_attempts_that_failed_before_a_valid_one(tmp_path: Path) -> None:
    module = {**MODULE, "acme/probing/__init__.py": UNSTEADY}
    made = package(tmp_path, module=module, run=acme_run)
    quiet = replay(tmp_path, made, "--trust", "--quiet", *SHORT)
    assert (tmp_path / "cwd" / "attempted").exists(), quiet.stderr
    assert "the measurement failed in 1" in quiet.stderr
    assert "ping: a cable was unplugged" in quiet.stderr
