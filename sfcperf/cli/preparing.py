"""What `sfcperf setup` does to a machine: packages of the distribution, by playbooks/host.yml, and
the data planes, compiled from the sources that are part of SFCPerf."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import sfcperf
from sfcperf import yaml_input
from sfcperf.dataplane import binaries
from sfcperf.environment.tools import find
from sfcperf.environment.variables import without_secrets
from sfcperf.errors import EnvironmentLacks

PURPOSES = ("run", "build")
"""Tags of the playbook: packages that runs need, and packages that compiling needs."""
_AS_ROOT = 'sudo "$(command -v sfcperf)" setup'
_INSTALL_TIMEOUT_S = 3600
_COMPILE_TIMEOUT_S = 1800
_QUERY_TIMEOUT_S = 60


def missing_packages() -> list[str]:
    """Return the packages that the playbook would install. Raises EnvironmentLacks on a
    distribution that it does not know."""
    known = _variables()
    of_all, of_distribution = known["packages"], known["packages_of_distribution"]
    name = _distribution()
    if name not in of_distribution:
        raise EnvironmentLacks(
            f"`sfcperf setup` does not know the packages of {name or 'this distribution'}",
            allowed=", ".join(of_distribution),
            hint="install what `sfcperf doctor` names, and run `sfcperf setup --no-packages`",
        )
    needed = [p for purpose in PURPOSES for p in of_all[purpose] + of_distribution[name][purpose]]
    installed = _installed()
    return [package for package in needed if package not in installed]


def install_packages() -> None:
    """Install the packages by Ansible, which says what it does. Raises EnvironmentLacks without
    root, or if it fails."""
    if os.geteuid() != 0:
        raise EnvironmentLacks("installing packages needs root", hint=_AS_ROOT)
    with as_file(files("sfcperf.playbooks") / "host.yml") as playbook:
        argv = [_beside_python("ansible-playbook"), "--inventory", "localhost,"]
        argv += ["--connection", "local", "--tags", ",".join(PURPOSES)]
        argv += ["--extra-vars", f"ansible_python_interpreter={sys.executable}", str(playbook)]
        settings = {"LC_ALL": "C.UTF-8", "ANSIBLE_NOCOWS": "1"}
        settings |= {"ANSIBLE_LOCALHOST_WARNING": "false", "ANSIBLE_DISPLAY_SKIPPED_HOSTS": "false"}
        _run(argv, "the packages could not be installed", _INSTALL_TIMEOUT_S, settings)


def compile_data_planes() -> Path:
    """Compile the data planes that have changed; return the folder of the tools. Raises
    EnvironmentLacks when the folder of SFCPerf cannot be written, or the compiler fails."""
    sources = binaries.SOURCES
    folder = binaries.folders()[0].absolute()
    if not os.access(sources, os.W_OK):
        raise EnvironmentLacks(
            f"{sources} cannot be written",
            hint="run `sfcperf setup` as the user who installed SFCPerf, or install it into a "
            "virtual environment",
        )
    make = find("make")
    if make is None:
        raise EnvironmentLacks("make is not installed", hint=_AS_ROOT)
    with tempfile.TemporaryFile("w+") as output:
        argv = [make, "--silent", f"--jobs={os.cpu_count() or 1}", "-C", str(sources)]
        argv += ["-f", "dataplane/Makefile", f"OUT={folder.parent}", f"BIN={folder}"]
        _run(argv, "the data planes could not be compiled", _COMPILE_TIMEOUT_S, {}, output)
    if not (sources / "setup.py").exists():
        # An installed SFCPerf notes for which version the tools are. In a source tree, make
        # compiles what changed, whatever the version.
        (folder / binaries.VERSION_FILE).write_text(f"{sfcperf.__version__}\n")
    return folder


def _variables() -> dict[str, Any]:
    """Return the variables of the playbook's only play; they hold the names of the packages."""
    content = (files("sfcperf.playbooks") / "host.yml").read_bytes()
    [play] = yaml_input.loads(content, "host.yml")
    variables: dict[str, Any] = play["vars"]
    return variables


def _distribution() -> str:
    """Return the name of the distribution as Ansible names it; empty if it is unknown."""
    try:
        identity = platform.freedesktop_os_release().get("ID", "")
    except OSError:
        return ""
    return identity.capitalize()


def _installed() -> set[str]:
    """Return the names of the installed Debian packages; empty if there is no dpkg."""
    query = find("dpkg-query")
    if query is None:
        return set()
    argv = [query, "--show", "--showformat=${db:Status-Status} ${Package}\n"]
    done = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        timeout=_QUERY_TIMEOUT_S,
        check=False,
        env=without_secrets(),
    )
    states = (line.partition(" ") for line in done.stdout.splitlines())
    return {name for state, _, name in states if state == "installed"}


def _beside_python(name: str) -> str:
    """Return the path of a command in the environment in which SFCPerf is installed, which need not
    be activated, or else on the PATH. Raises EnvironmentLacks if it is in neither."""
    path = Path(sys.executable).with_name(name)
    found = str(path) if path.is_file() else find(name)
    if found is None:
        raise EnvironmentLacks(f"{name} is not there", hint="pip install ansible-core")
    return found


def _run(
    argv: Sequence[str],
    failure: str,
    timeout_s: float,
    settings: dict[str, str],
    output: Any = None,
) -> None:
    """Run a command. `settings`: environment variables that it gets beside ours. `output`: file for
    what it prints, or None to let the user see it. Raises EnvironmentLacks when the command fails
    or does not end: its message begins with `failure`, and after a failure the last lines of
    `output` follow."""
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=None if output is None else subprocess.STDOUT,
            timeout=timeout_s,
            check=False,
            env={**without_secrets(), **settings},
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentLacks(f"{failure}: no end within {timeout_s / 60:.0f} min") from None
    if done.returncode != 0:
        lines: list[str] = []
        if output is not None:
            output.seek(0)
            lines = output.read().splitlines()[-20:]
        raise EnvironmentLacks("\n".join([failure, *lines]))
