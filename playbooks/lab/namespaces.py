"""A lab of machines that are made of namespaces: each has network, mounts, processes, host name and
control groups of its own, /run, /var/lib/sfcperf and an sshd. They share this machine's kernel,
clock and files.

Bridges join their network cards, one all those of a name; between two machines, there is a cable in
place of each bridge. By another bridge, this machine reaches them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf import retry
from sfcperf.drivers.local import cgroups
from sfcperf.drivers.local.network import processes_in, remove_namespace
from sfcperf.errors import EnvironmentLacks
from sfcperf.hosts import process
from sfcperf.hosts.namespace import NETNS_FOLDER

CARDS = ("wire0", "wire1")
"""Network cards of each machine. A run takes one, so that two runs can be at work."""
_FIRST = 1
"""Process id of a machine's first process, on the machine."""
_SCRIPT = Path(__file__).with_name("machine.sh")
_START_TIMEOUT_S = 20.0
_CARD_MTU = 2000


@dataclass(frozen=True)
class NamespaceLab:
    """A lab whose files are in a folder: keys, known hosts and the profile `lab.json`."""

    folder: Path
    name: str = "sfclab"
    """Beginning of the names of its namespaces and interfaces; at most 8 characters."""
    network: str = "10.93.0"
    """Beginning of the addresses by which this machine reaches the others."""
    machines: int = 3

    @property
    def nodes(self) -> list[str]:
        """Names of the machines, as nodes of the shipped topologies."""
        return [f"node{number}" for number in range(1, self.machines + 1)]

    def namespace(self, node: str) -> str:
        """Name of a machine's network namespace."""
        return f"{self.name}-{node}"

    def address(self, node: str) -> str:
        """Address by which this machine reaches a machine."""
        return f"{self.network}.{self.nodes.index(node) + 1}"

    @property
    def profile(self) -> Path:
        """File with the profile of the lab, for `--profile`."""
        return self.folder / "lab.json"

    def up(self) -> None:
        """Make the lab. Raises EnvironmentLacks if it cannot be made."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o755)
        try:
            self._keys()
            self._networks()
            for node in self.nodes:
                self.start(node)
            self._write_profile()
        except subprocess.CalledProcessError as error:
            self.down()
            complaint = (error.stderr or b"").decode(errors="replace").strip()
            raise EnvironmentLacks(
                f"the lab cannot be made: {' '.join(error.cmd[:6])}: {complaint}",
                hint="it needs root, ip (iproute2), unshare (util-linux) and sshd (openssh-server)",
            ) from error
        except BaseException:
            self.down()
            raise

    def start(self, node: str) -> None:
        """Start a machine, whose network exists, and wait until its sshd answers. Raises
        EnvironmentLacks."""
        self._plug(node)
        group = self._group(node)
        group.create(sorted(os.sched_getaffinity(0)), None)
        words = ["unshare", "--mount", "--pid", "--uts", "--cgroup", "--fork", "--kill-child"]
        version = cgroups.this_machine().version
        words += [str(_SCRIPT), node, str(self.folder), str(version)]
        log = self.folder / f"{node}.log"
        process.start(
            words,
            namespace=NETNS_FOLDER / self.namespace(node),
            cgroups=group.procs,
            stdout=log,
            stderr=log,
        )
        ssh = ["ssh", *self._ssh_options, f"root@{self.address(node)}", "true"]

        def answers() -> bool:
            return (
                subprocess.run(ssh, capture_output=True, stdin=subprocess.DEVNULL).returncode == 0
            )

        if not retry.until(answers, timeout_s=_START_TIMEOUT_S, period_s=0.1):
            raise EnvironmentLacks(f"the machine {node} does not start", where=str(log))

    def stop(self, node: str) -> None:
        """End a machine at once, as a power cut does. Its network stays."""
        namespace = self.namespace(node)
        while pids := processes_in([namespace]):
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for folder in self._group(node).folders.values():
            for group in sorted(folder.glob("**/"), reverse=True):
                cgroups.remove(group)

    def run(self, node: str, script: str) -> str:
        """Run a shell script on a machine, not by SSH, and return what it prints."""
        enter = ["nsenter", "--target", str(self._first(node)), "--mount", "--net", "--pid"]
        argv = [*enter, "sh", "-c", script]
        done = subprocess.run(
            argv, capture_output=True, check=True, text=True, stdin=subprocess.DEVNULL
        )
        return done.stdout

    def cut(self, node: str) -> None:
        """Break the SSH connections to a machine, as a crash of its sshd does."""
        self.run(node, f"pkill -KILL -P {_FIRST} sshd")

    @contextmanager
    def silent(self, node: str) -> Iterator[None]:
        """Let nothing through between this machine and another one while the block lasts; neither
        is told."""
        _ip("-n", self.namespace(node), "link", "set", "mgmt", "down")
        try:
            yield
        finally:
            _ip("-n", self.namespace(node), "link", "set", "mgmt", "up")

    def down(self) -> None:
        """Remove the lab, and the files that `up` made in its folder."""
        for node in self.nodes:
            self.stop(node)
            remove_namespace(self.namespace(node))
        for folder in self._group(self.nodes[0]).folders.values():
            cgroups.remove(folder.parent)
        remove_namespace(self._switch)
        with suppress(subprocess.CalledProcessError):
            _ip("link", "delete", f"{self.name}br")
        for name in ("host", "host.pub", "key", "key.pub", "authorized", "known_hosts"):
            (self.folder / name).unlink(missing_ok=True)
        self.profile.unlink(missing_ok=True)
        for node in self.nodes:
            (self.folder / f"{node}.log").unlink(missing_ok=True)

    def _first(self, node: str) -> int:
        """Return the id, on this machine, of the first process of a machine, its sshd."""
        for pid in processes_in([self.namespace(node)]):
            status = ""
            with suppress(OSError):  # it has just ended
                status = Path(f"/proc/{pid}/status").read_text()
            if re.search(rf"^NSpid:\s+{pid}\s+{_FIRST}$", status, re.MULTILINE):
                return pid
        raise EnvironmentLacks(f"the machine {node} does not run")

    @property
    def _switch(self) -> str:
        """Namespace of the bridge that joins the network cards."""
        return f"{self.name}-switch"

    @property
    def _ssh_options(self) -> list[str]:
        return [
            *("-i", str(self.folder / "key"), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes"),
            *("-o", f"UserKnownHostsFile={self.folder / 'known_hosts'}"),
        ]

    def _keys(self) -> None:
        """Make the keys of the user and of all machines."""
        for name in ("key", "host"):
            path = self.folder / name
            if not path.exists():
                _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path))
        shutil.copy(self.folder / "key.pub", self.folder / "authorized")
        public = " ".join((self.folder / "host.pub").read_text().split()[:2])
        lines = [f"{self.address(node)} {public}\n" for node in self.nodes]
        (self.folder / "known_hosts").write_text("".join(lines))

    def _networks(self) -> None:
        """Make the namespaces of the machines, and both bridges."""
        bridge, switch = f"{self.name}br", self._switch
        _ip("link", "add", bridge, "type", "bridge", "mcast_snooping", "0")
        _ip("address", "add", f"{self.network}.254/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        _ip("netns", "add", switch)
        for key in ("all", "default"):
            off = f"net.ipv6.conf.{key}.disable_ipv6=1"
            _run("ip", "netns", "exec", switch, "sysctl", "-q", "-w", off)
        for card in CARDS:
            _ip("-n", switch, "link", "add", card, "type", "bridge", "mcast_snooping", "0")
            _ip("-n", switch, "link", "set", card, "up")
        for number, node in enumerate(self.nodes, start=1):
            namespace = self.namespace(node)
            _ip("netns", "add", namespace)
            _ip("-n", namespace, "link", "set", "lo", "up")
            outer = f"{self.name}{number}"
            _ip("link", "add", outer, "type", "veth", "peer", "mgmt", "netns", namespace)
            _ip("link", "set", outer, "master", bridge, "up")
            _ip("-n", namespace, "address", "add", f"{self.address(node)}/24", "dev", "mgmt")
            _ip("-n", namespace, "link", "set", "mgmt", "up")

    def _plug(self, node: str) -> None:
        """Plug the network cards of a machine in that are not there. A card in the namespace of a
        node goes with the machine's power, since it is virtual."""
        namespace, switch = self.namespace(node), self._switch
        for card in CARDS:
            with suppress(subprocess.CalledProcessError):
                _ip("-n", namespace, "link", "show", card)
                continue
            mtu, port = ("mtu", str(_CARD_MTU)), f"{card}-{node}"
            if len(self.nodes) == 2:  # a cable
                [other] = (self.namespace(each) for each in self.nodes if each != node)
                ends = ("type", "veth", "peer", card, *mtu, "netns", other)
                _ip("-n", namespace, "link", "add", card, *mtu, *ends)
                for end in (namespace, other):
                    _ip("-n", end, "link", "set", card, "up")
                continue
            peer = ("peer", card, *mtu, "netns", namespace)
            _ip("-n", switch, "link", "add", port, *mtu, "type", "veth", *peer)
            _ip("-n", switch, "link", "set", port, "master", card, "up")
            _ip("-n", namespace, "link", "set", card, "up")

    def _group(self, node: str) -> cgroups.Cgroup:
        """Return the control group of a machine, below which its own are."""
        return cgroups.Cgroup(cgroups.this_machine(), self.name, node)

    def _write_profile(self) -> None:
        """Write the profile, for `sfcperf run WORKFLOW --profile`."""
        config: dict[str, Any] = {
            "machines": {
                node: {
                    "ssh": f"root@{self.address(node)}",
                    "nics": [CARDS[0]],
                }
                for node in self.nodes
            },
            "identity": str(self.folder / "key"),
            "known_hosts": str(self.folder / "known_hosts"),
        }
        text = json.dumps({"driver": "machines", "config": config}, indent=2)
        self.profile.write_text(text + "\n")


def _ip(*words: str) -> None:
    _run("ip", *words)


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True, stdin=subprocess.DEVNULL)
