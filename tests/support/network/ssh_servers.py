"""Machines to reach by SSH: a root of busybox and dropbear alone, and OpenSSH with sudo.

Each is a network, mount and process namespace of its own; ending its first process ends it whole.
"""

from __future__ import annotations

import ipaddress
import itertools
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.hosts.ssh import SshAccess, SshHost

_NETWORKS = list(ipaddress.ip_network("198.19.0.0/16").subnets(new_prefix=30))  # RFC 2544
_numbers = itertools.count(os.getpid() * 1000)
_START_TIMEOUT_S = 90.0

LOGIN = "guest"
"""A user of the OpenSSH machine who is not root and may use sudo."""
LOGIN_ID = 4242


@dataclass
class SshServer:
    """One that runs. `folder` is of this machine; `root` is the machine's `/` in it."""

    folder: Path
    root: Path
    namespace: str
    address: str
    key: Path
    host_key: str
    process: subprocess.Popen[bytes]
    user: str = "root"

    @property
    def access(self) -> SshAccess:
        return SshAccess(self.address, self.key, (self.host_key,), self.user)

    def processes(self) -> list[str]:
        """Command lines of all that runs in it but its SSH server, seen from outside."""
        first = self._first()
        inside = Path(f"/proc/{first}/ns/pid").readlink()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if (folder / "ns/pid").readlink() != inside or int(folder.name) == first:
                    continue
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
                state = (folder / "stat").read_text().rsplit(") ", 1)[1][0]
            except OSError:
                continue
            if line and state != "Z" and "dropbear" not in line and "sshd" not in line:
                found.append(line)
        return found

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Nothing gets through, in either direction, and nobody is told."""
        _run("ip", "-n", self.namespace, "link", "set", "eth0", "down")
        yield
        _run("ip", "-n", self.namespace, "link", "set", "eth0", "up")

    def cut_connections(self, user: int | None = None) -> None:
        """Kill the server's processes that serve connections, as a crash would. `user`: only those
        that run as the user with this id."""
        first = self._first()
        inside = Path(f"/proc/{first}/ns/pid").readlink()
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                same = (folder / "ns/pid").readlink() == inside
                name = (folder / "comm").read_text().strip()
                uid = re.findall(r"^Uid:\t(\d+)", (folder / "status").read_text(), re.MULTILINE)
                if user is not None and uid != [str(user)]:
                    continue
                if same and int(folder.name) != first and name in ("dropbear", "sshd"):
                    os.kill(int(folder.name), signal.SIGKILL)
            except OSError:
                continue

    def _first(self) -> int:
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return int(Path(children).read_text().split()[0])


@contextmanager
def dropbear(folder: Path, *, behind: SshServer | None = None) -> Iterator[SshServer]:
    """A machine with nothing but busybox and dropbear, reached from `behind` when that is given."""
    root = folder / "root"
    busybox_root(root)
    public = new_key(key := folder / "client")
    (root / "root/.ssh/authorized_keys").write_text(public + "\n")
    host = root / "etc/dropbear/dropbear_ed25519_host_key"
    _run("dropbearkey", "-t", "ed25519", "-f", str(host))
    printed = _run("dropbearkey", "-y", "-f", str(host))
    [shown] = re.findall("^ssh-ed25519 [^ ]+", printed, re.MULTILINE)
    script = (
        f"mount --rbind /dev {root}/dev && mount -t proc proc {root}/proc && "
        f"mount -t sysfs sysfs {root}/sys && exec chroot {root} /usr/sbin/dropbear -F -E"
    )
    with _machine(folder, root, script, behind) as (namespace, address, process):
        yield SshServer(folder, root, namespace, address, key, shown, process)


@contextmanager
def busybox(folder: Path) -> Iterator[tuple[SshServer, NamespaceHost, SshHost]]:
    """A machine with nothing but busybox and dropbear; as somebody in it sees it, and by SSH."""
    with dropbear(folder) as server:
        host = SshHost("far", server.access, Path("/tmp/far"))
        host.wait_reachable(20)
        try:
            yield server, NamespaceHost("far", server.namespace, folder), host
        finally:
            host.close()


@contextmanager
def openssh(
    folder: Path,
    *,
    user: str = "root",
    sudo: bool = True,
    forwarding: bool = True,
    behind: SshServer | None = None,
) -> Iterator[SshServer]:
    """A machine with the programs of this one, OpenSSH, and a user `guest` who may use sudo, or
    would have to give a password that he has not got. `forwarding`: whether it forwards TCP."""
    etc = folder / "etc"
    shutil.copytree(
        "/etc", etc, symlinks=True, ignore=shutil.ignore_patterns("ssl", "alternatives")
    )
    for name in ("ssl", "alternatives"):
        if Path("/etc", name).exists():
            shutil.copytree(Path("/etc", name), etc / name, symlinks=True)
    _, others = (etc / "passwd").read_text().split("\n", 1)
    # Homes of their own: what a bash reads at login on this machine is not part of it.
    users = f"root:x:0:0:root:{folder}:/bin/bash\n{LOGIN}:x:{LOGIN_ID}:4242::/tmp:/bin/bash\n"
    (etc / "passwd").write_text(users + others)
    with (etc / "shadow").open("a") as file:
        file.write(f"{LOGIN}:*:19000:0:99999:7:::\n")
    sudoers = etc / "sudoers.d" / LOGIN
    sudoers.write_text(f"{LOGIN} ALL=(ALL) {'NOPASSWD: ' if sudo else ''}ALL\n")
    sudoers.chmod(0o440)
    public = new_key(key := folder / "client")
    # Not in `folder`: the user who logs in has no way there.
    (etc / "keys").write_text(public + "\n")
    shown = new_key(folder / "host")
    (folder / "sshd_config").write_text(
        f"HostKey {folder}/host\nAuthorizedKeysFile /etc/keys\nStrictModes no\n"
        f"UsePAM no\nPidFile none\nPermitRootLogin yes\n"
        f"AllowTcpForwarding {'yes' if forwarding else 'no'}\n"
    )
    script = (
        f"mount --bind {etc} /etc && mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && "
        f"mount -t proc proc /proc && exec /usr/sbin/sshd -D -e -f {folder}/sshd_config"
    )
    with _machine(folder, Path("/"), script, behind) as (namespace, address, process):
        yield SshServer(folder, Path("/"), namespace, address, key, shown, process, user)


@contextmanager
def debian(folder: Path, prepare: str) -> Iterator[SshServer]:
    """A copy of this machine's files, as they are after the shell script `prepare`, with OpenSSH
    and no way to anywhere. Nothing of it is seen outside."""
    public = new_key(key := folder / "client")
    shown = new_key(folder / "host")
    config = "HostKey /k/host\nAuthorizedKeysFile /k/keys\nStrictModes no\nUsePAM no\nPidFile none"
    mounted = folder / "mounted"
    mounted.mkdir()
    script = f"""
        set -e
        mount -t tmpfs tmpfs {mounted}
        cd {mounted}
        mkdir upper work merged
        mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work merged
        mount --rbind /dev merged/dev
        mount -t proc proc merged/proc
        mount -t tmpfs tmpfs merged/run
        mkdir merged/k
        sed -i "s,^root:.*,root:x:0:0:root:/k:/bin/bash," merged/etc/passwd
        cp {folder}/host merged/k/
        echo '{public}' >merged/k/keys
        printf '{config}' >merged/k/config
        mkdir -m 755 merged/run/sshd
        chroot merged sh -ec '{prepare}'
        exec chroot merged /usr/sbin/sshd -D -e -f /k/config
    """
    with _machine(folder, mounted, script, None) as (namespace, address, process):
        yield SshServer(folder, mounted, namespace, address, key, shown, process)


def lacking() -> str:
    """Why these machines cannot be made here, or nothing."""
    names = {"dropbear": "dropbear-bin", "sshd": "openssh-server", "sudo": "sudo"}
    missing = [
        p for name, p in names.items() if shutil.which(name, path="/usr/sbin:/usr/bin") is None
    ]
    if not Path("/bin/busybox").exists():
        missing.append("busybox-static")
    return f"needs the packages {' '.join(missing)}" if missing else ""


@contextmanager
def _machine(
    folder: Path, root: Path, script: str, behind: SshServer | None
) -> Iterator[tuple[str, str, subprocess.Popen[bytes]]]:
    number = next(_numbers)
    namespace = f"ssh-{number}"
    near, far = map(str, _NETWORKS[number % len(_NETWORKS)].hosts())
    _run("ip", "netns", "add", namespace)
    try:
        link = f"ssh{number}"
        peer = ["peer", "name", "eth0", "netns", namespace]
        outside = [] if behind is None else ["-n", behind.namespace]
        _run("ip", *outside, "link", "add", link, "type", "veth", *peer)
        _run("ip", *outside, "addr", "add", f"{near}/30", "dev", link)
        _run("ip", *outside, "link", "set", link, "up")
        for argv in (["addr", "add", f"{far}/30", "dev", "eth0"], ["link", "set", "eth0", "up"]):
            _run("ip", "-n", namespace, *argv)
        _run("ip", "-n", namespace, "link", "set", "lo", "up")
        isolate = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script]
        with (folder / "server.log").open("wb") as log:
            process = subprocess.Popen(
                ["ip", "netns", "exec", namespace, *isolate],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            _await_listening(namespace, process, folder / "server.log")
            yield namespace, far, process
        finally:
            process.kill()
            process.wait()
    finally:
        _run("ip", "netns", "del", namespace)


def _await_listening(namespace: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while ":22 " not in _run("ip", "netns", "exec", namespace, "ss", "-Hltn"):
        if process.poll() is not None or time.monotonic() > deadline:
            raise AssertionError(f"no SSH server: {log.read_text()}")
        time.sleep(0.02)


def busybox_root(root: Path) -> None:
    """A file system with busybox, dropbear and nothing else."""
    for name in ("bin", "usr/sbin", "dev", "proc", "sys", "tmp", "etc/dropbear", "root/.ssh"):
        (root / name).mkdir(parents=True)
    (root / "root").chmod(0o700)
    (root / "root/.ssh").chmod(0o700)
    shutil.copy("/bin/busybox", root / "bin/busybox")
    for applet in _run("/bin/busybox", "--list").split():
        if applet != "busybox":
            (root / "bin" / applet).symlink_to("busybox")
    (root / "etc/passwd").write_text("root:*:0:0:root:/root:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")
    (root / "etc/shells").write_text("/bin/sh\n")
    server = Path(shutil.which("dropbear", path="/usr/sbin") or "")
    for line in _run("ldd", str(server)).splitlines():
        for word in line.split():
            if word.startswith("/"):
                target = root / word[1:]
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(word, target)
    shutil.copy(server, root / "usr/sbin/dropbear")


def new_key(path: Path, passphrase: str = "") -> str:
    """Make one; gives its public part, without a comment."""
    _run("ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(path))
    return " ".join(path.with_name(f"{path.name}.pub").read_text().split()[:2])


def _run(*argv: str) -> str:
    return subprocess.run(argv, check=True, timeout=20, capture_output=True, text=True).stdout
