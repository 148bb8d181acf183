"""A guest that a test boots by the cloud's plain calls, and that it reaches by `ssh`."""

from __future__ import annotations

import base64
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.network.ssh_servers import new_key

ANSWERS_WITHIN_S = 120.0


@dataclass(frozen=True)
class Guest:
    """A virtual machine with an address on the management network."""

    cloud: Any
    server_id: str
    address: str
    key: Path
    known_hosts: Path

    def console(self) -> str:
        """What it printed until now."""
        said = self.cloud.compute.get_server_console_output(self.server_id)["output"]
        return str(said).replace("\r", "")

    def says(self, wanted: Callable[[str], bool]) -> str:
        """The console, as soon as it is as wanted."""
        deadline = time.monotonic() + ANSWERS_WITHIN_S
        while not wanted(text := self.console()):
            assert time.monotonic() < deadline, f"not said after {ANSWERS_WITHIN_S:g} s:\n{text}"
            time.sleep(0.5)
        return text

    def pin(self, public_key: str) -> None:
        """From now on only a host that has this key is talked to."""
        self.known_hosts.write_text(f"{self.address} {public_key}\n")

    def ssh(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command as root; code 255 when ssh itself fails."""
        pinned = "yes" if self.known_hosts.exists() else "accept-new"
        options = {
            "BatchMode": "yes",
            "ConnectTimeout": "5",
            "IdentityFile": self.key,
            "StrictHostKeyChecking": pinned,
            "UserKnownHostsFile": self.known_hosts,
        }
        words = (word for name, value in options.items() for word in ("-o", f"{name}={value}"))
        argv = ["ssh", "-F", "/dev/null", *words, f"root@{self.address}", command]
        return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)

    def answers(self, command: str) -> str:
        """What the command prints, as soon as the guest is reached."""
        deadline = time.monotonic() + ANSWERS_WITHIN_S
        while (done := self.ssh(command)).returncode == 255:
            assert time.monotonic() < deadline, f"{done.stderr}\n{self.console()}"
            time.sleep(0.5)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@contextmanager
def booted(cloud: Any, image: str, flavor: str, script: str, folder: Path) -> Iterator[Guest]:
    """A guest that is gone, with what it needed, when the block is left."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    key = folder / f"{name}.key"
    public = new_key(key)
    with ExitStack() as undo:
        group = cloud.network.create_security_group(name=name)
        undo.callback(cloud.network.delete_security_group, group)
        cloud.network.create_security_group_rule(
            security_group_id=group.id, direction="ingress", ether_type="IPv4"
        )
        pair = cloud.compute.create_keypair(name=name, public_key=public)
        undo.callback(cloud.compute.delete_keypair, pair)
        server = cloud.compute.create_server(
            name=name,
            image_id=cloud.image.find_image(image).id,
            flavor_id=cloud.compute.find_flavor(flavor).id,
            key_name=name,
            security_groups=[{"name": name}],
            user_data=base64.b64encode(script.encode()).decode(),
            networks=[{"uuid": cloud.network.find_network("management").id}],
        )
        undo.callback(cloud.compute.wait_for_delete, server, interval=0.5, wait=120)
        undo.callback(cloud.compute.delete_server, server)
        active = cloud.compute.wait_for_server(server, interval=0.5, wait=300)
        (address,) = active.addresses["management"]
        yield Guest(cloud, server.id, address["addr"], key, folder / f"{name}.known")
