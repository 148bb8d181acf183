"""What the machine starts with: an archive in memory, with tools of this machine and a shell."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from support.oldest_kernel.kernel import Kernel

INIT = Path(__file__).with_name("init.sh")
TOOLS = ("bpftool", "dash", "ethtool", "ip", "socat", "tc", "tcpdump")
"""Copied with their libraries; everything else is busybox's. Not busybox's shell: it takes its own
`ip` and `tc` for these."""
MODULES = (
    *("veth", "llc", "stp", "bridge", "sch_ingress", "cls_bpf"),
    *("libcrc32c", "nf_defrag_ipv4", "nf_defrag_ipv6", "nf_conntrack", "nfnetlink"),
    *("nf_tables", "nft_ct"),
)


def build(kernel: Kernel, programs: Iterable[Path], files: Mapping[str, bytes], to: Path) -> None:
    """Write the archive: `programs` go into /usr/bin, `files` where their names say."""
    with tempfile.TemporaryDirectory(prefix="sfcperf-root-") as name:
        root = Path(name)
        for folder in ("bin", "dev", "etc", "proc", "run", "sys", "tmp", "usr/bin", "usr/sbin"):
            (root / folder).mkdir(parents=True)
        _copy(INIT, root / "init")
        _copy(_found("busybox"), root / "bin" / "busybox")
        for tool in map(_found, TOOLS):
            _copy(tool, root / "usr" / "sbin" / tool.name)
            for library in _libraries(tool):
                _copy(library, root / library.relative_to("/"))
        for program in programs:
            _copy(program, root / "usr" / "bin" / program.name)
        # Whoever asks for the user to become is told that there is root alone.
        (root / "etc" / "passwd").write_text("root:x:0:0:root:/tmp:/usr/sbin/dash\n")
        (root / "etc" / "group").write_text("root:x:0:\n")
        for path, content in files.items():
            target = root / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        _modules(kernel, root)
        _archive(root, to)


def _found(tool: str) -> Path:
    path = shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin")
    assert path is not None, f"{tool} is not there"
    return Path(path)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy(source, target)
        target.chmod(0o755)


def _libraries(program: Path) -> list[Path]:
    """By the loader itself: `name => /path (address)`, or `/path (address)`."""
    said = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return [Path(path) for path in re.findall(r"(/\S+) \(0x", said)]


def _modules(kernel: Kernel, root: Path) -> None:
    target = root / "lib" / "modules" / kernel.release
    target.mkdir(parents=True)
    for module in MODULES:
        (path,) = kernel.modules.rglob(f"{module}.ko")
        _copy(path, target / path.name)


def _archive(root: Path, to: Path) -> None:
    names = [str(path.relative_to(root)) for path in sorted(root.rglob("*"))]
    with to.open("wb") as archive:
        subprocess.run(
            ["busybox", "cpio", "-o", "-H", "newc"],
            cwd=root,
            input="\n".join(names).encode(),
            stdout=archive,
            stderr=subprocess.DEVNULL,
            check=True,
        )
