"""What a program needs elsewhere, and who has no room for it."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from sfcperf.errors import DeploymentError, EnvironmentLacks
from sfcperf.hosts.base import CompletedCommand
from sfcperf.hosts.carry import FreeSpace, equip
from sfcperf.hosts.carry.closure import Closure, closure, parse_ldd
from sfcperf.hosts.carry.pack import tree
from sfcperf.hosts.namespace import LocalHost

LDD = """\
\tlinux-vdso.so.1 (0x00007ffe1bdf6000)
\tlibcap.so.2 => /lib/x86_64-linux-gnu/libcap.so.2 (0x00007f0d7a1c9000)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f0d79fe8000)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f0d7a1f4000)
"""


def test_libraries_and_loader_are_told_apart() -> None:
    loader, libraries = parse_ldd("x", LDD)
    assert loader == Path("/lib64/ld-linux-x86-64.so.2").resolve()
    assert [name for name, _ in libraries] == ["libc.so.6", "libcap.so.2"]


def test_what_a_static_program_and_one_that_lacks_a_library_need() -> None:
    for text in ("\tnot a dynamic executable\n", "\tstatically linked\n"):
        assert parse_ldd("x", text) == (None, ())
    with pytest.raises(EnvironmentLacks, match=r"x of this machine lacks a library: libz\.so"):
        parse_ldd("x", "\tlibz.so.1 => not found\n")
    with pytest.raises(EnvironmentLacks, match="neither on the guest nor on this machine"):
        closure("no-such-tool")


def test_a_script_cannot_be_carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "some-script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentLacks, match="it is a script here"):
        closure("some-script")


def test_room() -> None:
    for memory_kib, disk, usable in (
        (100_000, "1000 2000 4096 ef53", 1000 * 4096),  # ext4
        (100_000, "1000 2000 4096 1021994", 1000 * 4096),  # tmpfs
        (20_000, "10000 20000 4096 1021994", 20_000 * 1024 - (12 << 20)),
        (20_000, "0 0 4096 858458f6", 20_000 * 1024 - (12 << 20)),  # ramfs: no limit
        (1_000, "0 0 4096 858458F6", 0),
    ):
        assert FreeSpace.of(f"MemAvailable: {memory_kib} kB", disk).usable_bytes == usable


def test_other_contents_have_another_name(tmp_path: Path) -> None:
    program = tmp_path / "program"
    digests = set()
    for content in (b"one", b"two, longer"):
        program.write_bytes(content)
        digests.add(tree(Closure("program", program, None, ())).digest)
    assert len(digests) == 2


class OtherMachine(LocalHost):
    """Answers as one that has nothing."""

    machine = "aarch64"
    memory_kib = 100_000

    def run(self, argv: list[str], **options: object) -> CompletedCommand:  # type: ignore[override]
        if "uname -m" in argv[2]:
            names = argv[5::3]
            text = "\n".join([self.machine, *(f"{name} " for name in names)])
        else:
            text = f"MemAvailable: {self.memory_kib} kB\n0 0 4096 858458f6\n"
        return CompletedCommand(tuple(argv), 0, text.encode(), b"")


def test_another_architecture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match=r"lacks ls, stat.*its CPU is aarch64, this one is"):
        equip(OtherMachine(tmp_path), ["stat", "ls"])


def test_a_guest_that_is_too_small_is_refused(tmp_path: Path) -> None:
    host = OtherMachine(tmp_path)
    host.machine = platform.machine()
    host.memory_kib = 13_000
    with pytest.raises(DeploymentError, match=r"lacks stat; they take \d+ MiB, and it has ro"):
        equip(host, ["stat"])


def test_this_machine_has_its_own(tmp_path: Path) -> None:
    assert equip(LocalHost(tmp_path), []) == ()
    assert equip(LocalHost(tmp_path), ["cat", "tar"]) == ()
    assert not list(tmp_path.iterdir())
