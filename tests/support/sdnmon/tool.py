"""sfc-sdnmon with a BPF file system of its own."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from sfcperf.dataplane import binaries
from sfcperf.dataplane.sdnmon.fields import FIELDS, Layout
from sfcperf.hosts.base import Host
from support.sdnmon.kernel import Program

HASH_KEY = 0x0123456789ABCDEF
FIVE_TUPLE = "ipv4_src,ipv4_dst,ip_proto,tp_src,tp_dst"
_TIMEOUT_S = 60


def layout_of(fields: str) -> Layout:
    """Of FIELD,... without masks."""
    names = fields.split(",")
    return Layout({field.name: field.mask for field in FIELDS if field.name in names})


class Tool:
    """The tool for one switch, in this network namespace or in a host's."""

    def __init__(self, state: Path, host: Host | None = None) -> None:
        self.state = state
        self._host = host

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command, which may fail."""
        argv = [str(binaries.find("sfc-sdnmon")), "--state", str(self.state), *words]
        if self._host is None:
            return subprocess.run(argv, capture_output=True, text=True, timeout=_TIMEOUT_S)
        done = self._host.run(argv, timeout_s=_TIMEOUT_S, check=False)
        return subprocess.CompletedProcess(
            argv, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    def __call__(self, *words: str) -> list[dict[str, Any]]:
        """Run a command that succeeds: its JSON Lines."""
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def on(self, fields: str, *options: str, ports: Iterable[str] = ()) -> None:
        """Begin, with a key that tests know."""
        self("on", "--fields", fields, "--key", f"{HASH_KEY:016x}", *options, *ports)

    @property
    def status(self) -> dict[str, Any]:
        return self("status")[0]

    @property
    def totals(self) -> dict[str, int]:
        """What became of frames, without what did not happen."""
        return {name: count for name, count in self.status["packets"].items() if count}

    @property
    def entries(self) -> list[dict[str, Any]]:
        first, *entries, last = self("entries")
        assert first["event"] == "entries"
        assert last == {"event": "end", "entries": len(entries)}
        return entries

    def counts(self, layout: Layout) -> dict[bytes, tuple[int, int]]:
        """Packets and bytes by key."""
        return {
            key_of(layout, entry["flow"]): (entry["packets"], entry["bytes"])
            for entry in self.entries
        }

    def feed(self, frames: Iterable[bytes], program: str = "arrive") -> list[bytes]:
        """Let the program see frames, `arrive` as tc has them and `arrive_xdp` as XDP. Without
        those that these ways of the kernel refuse: both want a whole header of Ethernet, and tc of
        IP."""
        seen = []
        with Program(self.state / "current" / program) as loaded:
            for frame in frames:
                with suppress(OSError):
                    loaded.run(frame)
                    seen.append(frame)
        return seen


def key_of(layout: Layout, flow: Mapping[str, Any]) -> bytes:
    """The key of a flow that the tool prints. Headers are those whose fields are there, as each
    header of these fields that a packet has shows all of its fields."""
    headers = {f.header for f in layout.fields if f.header and f.name in flow}
    return layout.key({name: _number(value) for name, value in flow.items()}, headers)


def _number(value: str | int) -> int:
    if isinstance(value, int):
        return value
    if value.count(":") == 5 and len(value) == 17 and "::" not in value:
        return int(value.replace(":", ""), 16)
    return int(ip_address(value))


@contextmanager
def bpf_file_system(parent: Path) -> Iterator[Path]:
    """A folder in which programs and maps can be pinned."""
    folder = Path(tempfile.mkdtemp(dir=parent))
    subprocess.run(["mount", "-t", "bpf", "bpf", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def switched(parent: Path, host: Host | None = None) -> Iterator[Tool]:
    """A tool whose monitoring ends with the test."""
    with bpf_file_system(parent) as folder:
        tool = Tool(folder / "switch", host)
        try:
            yield tool
        finally:
            tool("off")
            assert not tool.state.exists()
