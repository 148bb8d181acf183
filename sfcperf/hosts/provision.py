"""Installs tools in a VM from its distribution's packages, by playbooks/guest.yml."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from sfcperf import waiting
from sfcperf.environment.variables import secrets
from sfcperf.errors import DeploymentError
from sfcperf.hosts.carry import missing
from sfcperf.hosts.ssh import SshAccess, SshHost

_TIMEOUT_S = 1200


def install(host: SshHost, tools: Iterable[str], folder: Path) -> tuple[str, ...]:
    """Install those of `tools` that the host lacks, or has only as applets of busybox.

    Returns the names of the tools that were installed. Ansible is started only if one is missing,
    and what it says stays in `folder`, on this machine. Raises DeploymentError, with Ansible's
    complaint, when a tool is still missing afterwards.
    """
    _, absent = missing(host, tools)
    if not absent:
        return ()
    import ansible_runner

    folder.mkdir(parents=True, exist_ok=True)
    with resources.as_file(resources.files("sfcperf.playbooks") / "guest.yml") as playbook:
        done = ansible_runner.run(
            private_data_dir=str(folder),
            playbook=str(playbook),
            inventory={"all": {"hosts": {host.name: inventory(host, folder)}}},
            extravars={"tools": list(absent)},
            envvars=_settings(host, folder),
            timeout=_TIMEOUT_S,
            cancel_callback=waiting.cancelled,
            quiet=True,
        )
        waiting.check()
        complaint = _complaint(done) if done.status != "successful" else ""
    _, still = missing(host, absent)
    if complaint or still:
        raise DeploymentError(
            f"{', '.join(still or absent)} could not be installed on {host.name}: "
            f"{complaint or 'their packages did not bring them'}",
            where=str(folder),
            hint="use `provision: carry`, or an image that has them",
        )
    return absent


def inventory(host: SshHost, folder: Path) -> dict[str, Any]:
    """Tell Ansible how to reach a host: with the key, pinned host keys and jump host that we
    use."""
    access = host.access
    options = _options(access, folder / f"known-hosts-{host.name}")
    if host.jump is not None:
        through = ["ssh", *_options(host.jump.access, folder / f"known-hosts-{host.jump.name}")]
        through += ["-p", str(host.jump.access.port), "-W", f"[{access.address}]:{access.port}"]
        through.append(f"{host.jump.access.user}@{host.jump.access.address}")
        options += ["-o", f"ProxyCommand={shlex.join(through)}"]
    return {
        "ansible_connection": "ssh",
        "ansible_host": access.address,
        "ansible_port": access.port,
        "ansible_user": access.user,
        "ansible_become": access.user != "root",
        "ansible_ssh_args": "",  # its default leaves a process behind that keeps connections
        "ansible_ssh_common_args": shlex.join(options),
        "ansible_ssh_transfer_method": "piped",  # guests may have no sftp
        "ansible_python_interpreter": "auto_silent",
    }


def _options(access: SshAccess, known_hosts: Path) -> list[str]:
    """Options of ssh for one host; writes its pinned keys to the file `known_hosts`."""
    port = "" if access.port == 22 else f":{access.port}"
    name = f"[{access.address}]{port}" if port else access.address
    known_hosts.write_text("".join(f"{name} {key}\n" for key in access.host_keys))
    return [
        *("-F", "none", "-i", str(access.key)),
        *("-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "BatchMode=yes"),
        *("-o", "StrictHostKeyChecking=yes", "-o", f"UserKnownHostsFile={known_hosts}"),
        *("-o", "GlobalKnownHostsFile=none"),
    ]


def _settings(host: SshHost, folder: Path) -> Mapping[str, str]:
    """Environment for Ansible. It keeps out the user's own configuration, and keeps all files in
    folders that are removed."""
    configuration = folder / "ansible.cfg"
    configuration.write_text("[defaults]\n")
    return {
        # Ansible inherits our environment: secrets are overwritten with nothing.
        **dict.fromkeys(secrets(), ""),
        # Ansible's programs are beside our Python, which may not be on the path.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()]),
        "ANSIBLE_CONFIG": str(configuration),
        "ANSIBLE_LOCAL_TEMP": str(folder / "tmp"),
        "ANSIBLE_REMOTE_TEMP": f"{host.workdir}/ansible",
        "ANSIBLE_REMOTE_TMP": f"{host.workdir}/ansible",
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_HOME": str(folder / "home"),
        "LC_ALL": "C.UTF-8",
    }


def _complaint(done: Any) -> str:
    """Say what failed first, in Ansible's words."""
    for event in done.events:
        if event["event"] in ("runner_on_failed", "runner_on_unreachable"):
            data = event["event_data"]
            result = data.get("res", {})
            # For a command that failed, `msg` says only that it did: its outputs say why.
            outputs = (
                [result.get(name, "") for name in ("stdout", "stderr")] if "rc" in result else []
            )
            text = " ".join([*outputs, result.get("msg", "")])
            return f"{data.get('task', 'a task')}: {' '.join(str(text).split())[-400:]}"
    lines = [line for line in done.stdout.read().splitlines() if "ERROR" in line]
    return f"Ansible ended with {done.status}: {' '.join(lines)[:400]}"
