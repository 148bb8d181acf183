"""The scripts of playbooks/ that have files from Maven Central, with a stand-in for Maven."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

PLAYBOOKS = Path(__file__).resolve().parents[2] / "playbooks"

MVN = """#!/usr/bin/env python3
import pathlib, sys, zipfile
pathlib.Path({log!r}).open("a").write(" ".join(sys.argv[1:]) + "\\n")
if {fails}:
    sys.exit("no such artifact")
(folder,) = [a.partition("=")[2] for a in sys.argv if a.startswith("-DoutputDirectory=")]
for name, member in {files!r}.items():
    with zipfile.ZipFile(pathlib.Path(folder, name), "w") as archive:
        archive.writestr(member, "content")
"""
SCRIPTS = {
    "mermaid.sh": ({"mermaid-1.2.jar": "META-INF/dist/mermaid.min.js"}, "mermaid-1.2.min.js"),
    "elasticsearch.sh": (
        {"elasticsearch-1.2.zip": "elasticsearch-1.2/bin/elasticsearch"},
        "elasticsearch-1.2/bin/elasticsearch",
    ),
    "jars.sh": ({"kafka.jar": "Main.class"}, "kafka.jar"),
}
"""What Maven gives each, and one of the files that are then there."""


class Machine:
    """A machine with a Maven that gives what a test says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.target = folder / "parent" / "target"
        self.log = folder / "log"
        self.log.touch()
        (folder / "pom.xml").write_text("<project/>")
        (folder / "bin").mkdir()
        self.has("java", "#!/bin/sh\n")

    def has(self, name: str, text: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def has_maven(self, script: str, *, fails: bool = False) -> None:
        files = SCRIPTS[script][0]
        self.has("mvn", MVN.format(log=str(self.log), fails=fails, files=files))

    def run(self, script: str, path: str = "") -> subprocess.CompletedProcess[str]:
        what = self.folder / "pom.xml" if script == "jars.sh" else "1.2"
        return subprocess.run(
            [str(PLAYBOOKS / script), str(self.target), str(what)],
            env={**os.environ, "PATH": path or f"{self.folder / 'bin'}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def unfinished(self) -> list[Path]:
        return [path for path in self.folder.rglob("*.??????") if path.is_dir()]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_maven_gives_is_there_and_asked_for_once(machine: Machine, script: str) -> None:
    machine.has_maven(script)
    for _ in range(2):
        done = machine.run(script)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert (machine.target / SCRIPTS[script][1]).is_file()
        assert machine.target.stat().st_mode & 0o777 == 0o755
        assert machine.unfinished() == []
    (asked,) = machine.log.read_text().splitlines()
    assert "--strict-checksums" in asked
    if script == "jars.sh":  # another pom is asked for again
        (machine.folder / "pom.xml").write_text("<project></project>")
        assert machine.run(script).returncode == 0
        assert len(machine.log.read_text().splitlines()) == 2


def test_what_maven_does_not_have_leaves_nothing(machine: Machine) -> None:
    machine.has_maven("jars.sh", fails=True)
    done = machine.run("jars.sh")
    assert done.returncode == 1
    assert "no such artifact" in done.stderr
    assert "Maven Central" in done.stderr
    assert not machine.target.exists()
    assert machine.unfinished() == []


def test_what_is_missing_is_named(machine: Machine) -> None:
    for name in ("sh", "dirname", "sha256sum", "cat"):
        machine.has(name, f'#!/bin/sh\nPATH=/usr/bin:/bin exec {name} "$@"\n')
    done = machine.run("jars.sh", path=str(machine.folder / "bin"))
    assert done.returncode == 1
    assert "mvn is not there (Debian, Ubuntu: sudo apt-get install maven " in done.stderr
    assert not machine.target.parent.exists()
