"""playbooks/venv.sh: the first thing that runs on a fresh machine, where little is there yet.

Interpreters and system commands are stand-ins on the PATH: the script must work where Python lacks
its venv module, and no test may take that away from the machine.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "playbooks" / "venv.sh"

PYTHON = """#!/bin/sh
# A Python {version}; its venv module is there when the file {ensurepip} is.
case "$*" in
    *'print("%d.%d"'*) echo {version} ;;
    *'version_info <'*) exit {too_old} ;;
    *'import ensurepip'*) test -e {ensurepip} ;;
    '-m venv'*) echo "$*" >>{log} ;;
    *) exit 1 ;;
esac
"""


class Machine:
    """A machine with a Python of some version, with or without apt-get and root."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.venv = folder / "venv"
        self.log = folder / "log"
        self.log.touch()
        self.ensurepip = folder / "ensurepip"
        self.ensurepip.touch()
        self.has("id", "#!/bin/sh\necho 0\n")

    def has(self, name: str, text: str) -> None:
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def has_python(self, version: str, *, too_old: bool = False) -> None:
        names = {"ensurepip": self.ensurepip, "log": self.log}
        self.has("fake-python", PYTHON.format(version=version, too_old=int(too_old), **names))

    def run(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(SCRIPT), str(self.venv), "fake-python"],
            env={**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_an_environment_is_made(machine: Machine) -> None:
    machine.has_python("3.12")
    assert machine.run().returncode == 0
    assert machine.log.read_text() == f"-m venv --clear {machine.venv}\n"


@pytest.mark.parametrize("version", [None, "3.9"])
def test_no_python_or_an_old_one(machine: Machine, version: str | None) -> None:
    if version:
        machine.has_python(version, too_old=True)
    done = machine.run()
    assert done.returncode == 1
    assert "3.11" in done.stderr and (version or "Python") in done.stderr
    assert machine.log.read_text() == ""


def test_a_missing_venv_module_is_installed_for_root(machine: Machine) -> None:
    machine.has_python("3.12")
    machine.ensurepip.unlink()
    machine.has("apt-get", f'#!/bin/sh\necho "apt-get $*" >>{machine.log}\n')
    assert machine.run().returncode == 0
    lines = machine.log.read_text().splitlines()
    assert lines[0].endswith("update")
    assert lines[1].endswith("install --no-install-recommends -y python3.12-venv")
    assert lines[2].startswith("-m venv")


def test_a_missing_venv_module_is_named_for_others(machine: Machine) -> None:
    machine.has_python("3.12")
    machine.ensurepip.unlink()
    machine.has("id", "#!/bin/sh\necho 1000\n")
    machine.has("apt-get", f"#!/bin/sh\necho called >>{machine.log}\n")
    done = machine.run()
    assert done.returncode == 1
    assert "python3.12-venv" in done.stderr
    assert machine.log.read_text() == ""


@pytest.mark.parametrize(("at_home", "made_anew"), [(True, False), (False, True)])
def test_an_environment_that_was_moved_is_made_anew(
    machine: Machine, at_home: bool, made_anew: bool
) -> None:
    machine.has_python("3.12")
    scripts = machine.venv / "bin"
    scripts.mkdir(parents=True)
    home = machine.venv if at_home else machine.folder / "elsewhere"
    (scripts / "pip").write_text(f"#!{home}/bin/python3\n")
    (scripts / "python").write_text("#!/bin/sh\nexit 0\n")
    (scripts / "python").chmod(0o755)
    assert machine.run().returncode == 0
    assert bool(machine.log.read_text()) == made_anew
