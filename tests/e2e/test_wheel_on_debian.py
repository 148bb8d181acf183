"""From nothing to a first result: the wheel in a Debian 12 that has nothing but Python."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.wheel import build_wheel, run_command

SUITE = "bookworm"
PYTHON = "python3,python3-venv,ca-certificates"
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
OF_PIP = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_PROXY", "HTTPS_PROXY", "https_proxy")
_TIMEOUT_S = 1200

pytestmark = [pytest.mark.root, pytest.mark.exhaustive]

# Mounts are those of a namespace that ends with the command.
ENTER = """
set -e
mount -t proc proc "$1/proc"; mount --rbind /sys "$1/sys"; mount --rbind /dev "$1/dev"
mount -t tmpfs tmpfs "$1/run"
root=$1; shift
exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \\
    LC_ALL=C.UTF-8 "$@"
"""


class Machine:
    """A root file system."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, *argv: str) -> str:
        """What a command prints, in /root."""
        environment = [f"{name}={os.environ[name]}" for name in OF_PIP if name in os.environ]
        inside = [*environment, f"PIP_CERT=/{CERTIFICATES}", "sh", "-c", 'cd /root && exec "$@"']
        shell = ["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, "enter"]
        return run_command([*shell, str(self.root), *inside, "sh", *argv], self.root, _TIMEOUT_S)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """Fresh, with the archive of this one and the wheel."""
    if shutil.which("debootstrap") is None:
        pytest.skip("needs debootstrap (make setup)")
    root = tmp_path / "debian"
    archive = _archive()
    if archive is None:
        pytest.skip(f"this machine has no archive of Debian {SUITE}")
    packages = f"--include={PYTHON}"
    run_command(["debootstrap", "--variant=minbase", packages, SUITE, str(root), archive], tmp_path)
    (root / "etc/apt/sources.list").write_text(f"deb {archive} {SUITE} main\n")
    shutil.copytree("/etc/apt/apt.conf.d", root / "etc/apt/apt.conf.d", dirs_exist_ok=True)
    for name in ("etc/resolv.conf", "etc/hosts", "etc/pip.conf", CERTIFICATES):
        if (source := Path("/") / name).is_file():
            (root / name).unlink(missing_ok=True)
            shutil.copy(source, root / name)
    shutil.copy(build_wheel(tmp_path / "wheel"), root / "root")
    yield Machine(root)
    # Without --one-file-system, a mount that was left would be emptied, too.
    run_command(["rm", "-rf", "--one-file-system", str(root)], tmp_path)


def _archive() -> str | None:
    """From which this machine's packages come."""
    for path in [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]:
        for stanza in path.read_text().split("\n\n") if path.is_file() else []:
            lines = [line.split() for line in stanza.splitlines()]
            fields = {words[0]: words[1:] for words in lines if words}
            if SUITE in fields.get("Suites:", []):
                return fields["URIs:"][0]
            for words in lines:
                if words[:1] == ["deb"] and words[2:3] == [SUITE]:
                    return words[1]
    return None


def test_a_first_run(machine: Machine) -> None:
    machine.run("python3", "-m", "venv", "venv")
    (wheel,) = (machine.root / "root").glob("*.whl")
    machine.run("venv/bin/pip", "install", "--quiet", f"/root/{wheel.name}")
    assert "quickstart: valid" in machine.run("venv/bin/sfcperf", "validate", "quickstart")
    prepared = machine.run("venv/bin/sfcperf", "setup", "--yes")
    assert "packages are missing: " in prepared
    assert "MISSING" not in prepared
    # A second time, there is nothing to do.
    assert "packages are missing" not in machine.run("venv/bin/sfcperf", "setup")
    output = machine.run("venv/bin/sfcperf", "run", "quickstart", "--set", "preset=short")
    assert "24 trials: 24 valid" in output
    (report,) = (machine.root / "root/results").glob("*-quickstart-*/report.html")
    assert report.stat().st_size > 100_000
