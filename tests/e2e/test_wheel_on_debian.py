"""From nothing to a first result: the steps of the Containerfile in a fresh Debian 12."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Container, Iterator, Sequence
from io import BytesIO
from pathlib import Path

import pytest
from dockerfile_parse import DockerfileParser
from support.wheel import TREE, build_wheel, run_command

from sfcperf.errors import ExitCode
from sfcperf.results.store import RunStore

SUITE = "bookworm"
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
OF_PIP = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_PROXY", "HTTPS_PROXY", "https_proxy")
_TIMEOUT_S = 1200
OF_A_BUILD = (
    "chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap,net_bind_service,net_raw,"
    "sys_chroot,mknod,audit_write,setfcap"
)
"""Capabilities that Docker gives the steps of a build; Podman gives fewer of them."""

pytestmark = [pytest.mark.root, pytest.mark.exhaustive]

MOUNTS = ["unshare", "--mount", "--propagation", "private"]
CONTAINER = [*MOUNTS, "--pid", "--fork", "--net", "--ipc", "--uts"]
"""What a privileged container has of its own."""
# Mounts are those of a namespace that ends with the command.
ENTER = """
set -e
ip link set lo up
mount -t proc proc "$1/proc"; mount -t sysfs sysfs "$1/sys"; mount --rbind /dev "$1/dev"
mount --rbind /sys/fs/cgroup "$1/sys/fs/cgroup"
mount -t tmpfs tmpfs "$1/run"
root=$1; shift
exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \\
    LC_ALL=C.UTF-8 "$@"
"""


class Machine:
    """A root file system."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def build(self, recipe: DockerfileParser, wheel: Path) -> list[str]:
        """Do what a recipe says; gives its entry point."""
        entry: list[str] = []
        for step in recipe.structure:
            match step["instruction"]:
                case "RUN":
                    bounding = "-all," + ",".join(f"+{name}" for name in OF_A_BUILD.split(","))
                    limit = ["setpriv", f"--bounding-set={bounding}", "--inh-caps=-all"]
                    # With the network, for packages.
                    self.run(*limit, "sh", "-c", step["value"], namespaces=MOUNTS)
                case "COPY":
                    pattern, target = shlex.split(step["value"])
                    assert (wheel.parent.name, wheel.match(pattern)) == ("dist", True)
                    shutil.copy(wheel, self.root / target.lstrip("/"))
                case "WORKDIR":
                    (self.root / step["value"].lstrip("/")).mkdir()
                case "ENTRYPOINT":
                    entry = json.loads(step["value"])
                case other:
                    assert other in ("COMMENT", "FROM", "CMD"), f"{other} would need a test"
        return entry

    def run(
        self,
        *argv: str,
        namespaces: Sequence[str] = tuple(CONTAINER),
        codes: Container[int] = (0,),
    ) -> str:
        """What a command prints, in /root."""
        # Installing ca-certificates replaces those of this machine.
        (self.root / CERTIFICATES).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path("/") / CERTIFICATES, self.root / CERTIFICATES)
        environment = [f"{name}={os.environ[name]}" for name in OF_PIP if name in os.environ]
        inside = [*environment, f"PIP_CERT=/{CERTIFICATES}", "sh", "-c", 'cd /root && exec "$@"']
        shell = [*namespaces, "sh", "-c", ENTER, "enter"]
        command = [*shell, str(self.root), *inside, "sh", *argv]
        return run_command(command, self.root, _TIMEOUT_S, codes)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """Fresh, with the archive of this one."""
    if shutil.which("debootstrap") is None:
        pytest.skip("needs debootstrap (make setup)")
    root = tmp_path / "debian"
    archive = _archive()
    if archive is None:
        pytest.skip(f"this machine has no archive of Debian {SUITE}")
    run_command(["debootstrap", "--variant=minbase", SUITE, str(root), archive], tmp_path)
    (root / "etc/apt/sources.list").write_text(f"deb {archive} {SUITE} main\n")
    shutil.copytree("/etc/apt/apt.conf.d", root / "etc/apt/apt.conf.d", dirs_exist_ok=True)
    for name in ("etc/resolv.conf", "etc/hosts", "etc/pip.conf"):
        if (source := Path("/") / name).is_file():
            (root / name).unlink(missing_ok=True)
            shutil.copy(source, root / name)
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


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return build_wheel(tmp_path / "dist")


def test_a_first_run(machine: Machine, wheel: Path) -> None:
    recipe = DockerfileParser(fileobj=BytesIO((TREE / "Containerfile").read_bytes()))
    # A smaller Debian 12, as that of debootstrap is.
    assert recipe.baseimage == "debian:12-slim"
    sfcperf = machine.build(recipe, wheel)
    assert "quickstart: valid" in machine.run(*sfcperf, "validate", "quickstart")
    # Of an image without the lists of packages, everything is there.
    prepared = machine.run(*sfcperf, "setup")
    assert "packages are missing" not in prepared
    assert "MISSING" not in prepared
    # On a busy machine, trials may be untrusted.
    run = ["run", "quickstart", "--set", "preset=short"]
    machine.run(*sfcperf, *run, codes=(ExitCode.OK, ExitCode.SOME_TRIALS_BAD))
    (folder,) = (machine.root / "root/results").glob("*-quickstart-*")
    statuses = [trial.status for trial in RunStore(folder).trials()]
    assert len(statuses) == 24
    assert set(statuses) <= {"valid", "untrusted"}
    assert (folder / "report.html").stat().st_size > 100_000
