"""What is attached to an interface, by the word of the kernel: judge of the process tests."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from sfcperf.hosts.process import inside
from support.network.wires import Port, space

_SYS_BPF = {"x86_64": 321, "aarch64": 280}[platform.machine()]
_BPF_PROG_QUERY = 16
_TCX = {"ingress": 46, "egress": 47}
_ROOM = 32


class _Query(ctypes.Structure):
    """`union bpf_attr` for BPF_PROG_QUERY."""

    _fields_ = [
        ("target_ifindex", ctypes.c_uint32), ("attach_type", ctypes.c_uint32),
        ("query_flags", ctypes.c_uint32), ("attach_flags", ctypes.c_uint32),
        ("prog_ids", ctypes.c_uint64), ("count", ctypes.c_uint32), ("_", ctypes.c_uint32),
        ("more", ctypes.c_uint64 * 4),
    ]  # fmt: skip


def tcx(port: Port, direction: str) -> list[str]:
    """Names of the programs at a tcx hook, in their order."""
    ids = (ctypes.c_uint32 * _ROOM)()
    with inside(port.host.namespace):
        query = _Query(
            target_ifindex=int(_ip_link(port)["ifindex"]),
            attach_type=_TCX[direction],
            prog_ids=ctypes.addressof(ids),
            count=_ROOM,
        )
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.syscall(_SYS_BPF, _BPF_PROG_QUERY, ctypes.byref(query), ctypes.sizeof(query)) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return [_program_name(ids[i]) for i in range(query.count)]


def clsact(port: Port, direction: str) -> list[str]:
    """Names of the BPF filters at a clsact hook, first one first."""
    shown = _json("tc", "-n", space(port.host), "filter", "show", "dev", port.interface, direction)
    return [
        entry["options"]["bpf_name"].partition(":")[0]
        for entry in shown
        if "bpf_name" in entry.get("options", {})
    ]


def qdiscs(port: Port) -> list[str]:
    """Kinds of an interface's qdiscs."""
    shown = _json("tc", "-n", space(port.host), "qdisc", "show", "dev", port.interface)
    return [qdisc["kind"] for qdisc in shown]


def children(pid: int) -> list[int]:
    """Processes that a process has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


def is_alive(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _program_name(program_id: int) -> str:
    try:
        return str(_json("bpftool", "-j", "prog", "show", "id", str(program_id))["name"])
    except subprocess.CalledProcessError:
        return "gone"


def _ip_link(port: Port) -> dict[str, Any]:
    [link] = _json("ip", "-n", space(port.host), "-j", "link", "show", "dev", port.interface)
    return dict(link)


def _json(tool: str, *arguments: str) -> Any:
    argv = [tool, *arguments] if tool != "tc" else [tool, "-j", *arguments]
    done = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=10)
    return json.loads(done.stdout or "[]")
