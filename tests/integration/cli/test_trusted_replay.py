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
