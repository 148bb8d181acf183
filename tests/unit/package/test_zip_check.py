"""Hostile archives: refused with a reason before anything is written."""

from __future__ import annotations

import random
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.records.packages import contents, write_zip
from support.tiers import examples

from sfcperf.errors import SfcperfError
from sfcperf.package import unpack as unpacking
from sfcperf.package import zip_check
from sfcperf.package.names import clash, name_problem
from sfcperf.package.unpack import unpack
from sfcperf.package.verify import verify
from sfcperf.package.verify.hashes import check_hashes
from sfcperf.package.zip_check import PackageRefused, inspect


def refuse(path: Path, folder: Path, reason: str) -> None:
    """It is refused for this reason, and nothing was written."""
    folder.mkdir()
    with pytest.raises(PackageRefused, match=reason):
        unpack(path, folder)
    assert not any(folder.iterdir())


def entry(name: str, mode: int = stat.S_IFREG | 0o644) -> zipfile.ZipInfo:
    """A name as it is to stand in the zip, whatever the library thinks of it."""
    info = zipfile.ZipInfo("x")
    info.filename = name
    info.external_attr = mode << 16
    info.create_system = 3
    return info


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../evil", r"`\.\.`"),
        ("runs/../../evil", r"`\.\.`"),
        ("/etc/cron.d/evil", "absolute"),
        ("C:/evil", "absolute"),
        ("c:evil", "absolute"),
        ("a\\..\\evil", "backslash"),
        ("a//b", "empty part"),
        ("./a", "empty part"),
        ("a\nb", "control"),
        ("a\x1b[2Jb", "control"),
        ("a\u202egnp.exe", "control"),
        ("x" * 256, "too long"),
        ("/".join("d" * 40), "nested"),
    ],
)
def test_names_that_lead_astray(tmp_path: Path, name: str, reason: str) -> None:
    refuse(write_zip(tmp_path / "p.zip", {entry(name): b"x"}), tmp_path / "out", reason)


def test_a_name_that_is_cut_at_a_nul(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "p.zip", {"good.txt#.exe": b"x"})
    path.write_bytes(path.read_bytes().replace(b"good.txt#", b"good.txt\0"))
    refuse(path, tmp_path / "out", "control")


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        (stat.S_IFLNK | 0o777, "a link"),
        (stat.S_IFCHR | 0o666, "neither a file"),
        (stat.S_IFDIR | 0o755, "neither a file"),
    ],
)
def test_what_is_no_file(tmp_path: Path, mode: int, reason: str) -> None:
    refuse(write_zip(tmp_path / "p.zip", {entry("a", mode): b"/etc"}), tmp_path / "out", reason)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    "names",
    [
        ("a", "a"),
        ("readme", "README"),
        ("stra\u00dfe", "STRASSE"),
        ("e\u0301", "\u00e9"),
        ("a", "a/b"),
        ("a/", "a"),
        ("a/b/", "a"),
        ("Runs/", "runs/"),
    ],
)
def test_names_that_some_machine_takes_for_one(tmp_path: Path, names: tuple[str, str]) -> None:
    path = tmp_path / "p.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            is_folder = name.endswith("/")
            mode = stat.S_IFDIR | 0o755 if is_folder else stat.S_IFREG | 0o644
            archive.writestr(entry(name, mode), b"" if is_folder else b"x")
    refuse(path, tmp_path / "out", "collide")


def test_two_zip64_fields(tmp_path: Path) -> None:
    """Which of them counts is up to the reader."""
    path = tmp_path / "p.zip"
    with (
        zipfile.ZipFile(path, "w") as archive,
        archive.open(entry("a"), "w", force_zip64=True) as file,
    ):
        file.write(b"x")
    sizes, extra_length, header, name_length = 18, 28, 30, 1
    good = bytearray(path.read_bytes())
    # Python before 3.11.4 writes the sizes here as well.
    good[sizes : sizes + 8] = b"\xff" * 8
    path.write_bytes(good)
    assert len(inspect(path)) == 1
    field = good[header + name_length : header + name_length + 20]
    extra = struct.pack("<HHQQ", 1, 16, 9, 9)
    raw = good[:extra_length] + struct.pack("<H", 40) + good[header : header + name_length]
    raw += field + extra + good[header + name_length + 20 :]
    end = raw.rindex(b"PK\5\6") + 16
    start = struct.unpack_from("<L", raw, end)[0] + 20
    path.write_bytes(raw[:end] + struct.pack("<L", start) + raw[end + 4 :])
    refuse(path, tmp_path / "out", "differ")


def test_encrypted(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "p.zip", {"a": b"x" * 100})
    raw = bytearray(path.read_bytes())
    for magic, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        raw[raw.index(magic) + at] |= 1
    path.write_bytes(raw)
    refuse(path, tmp_path / "out", "encrypted")


def test_an_unusual_method(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "p.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a", b"x")
    refuse(tmp_path / "p.zip", tmp_path / "out", "unusual method")


def test_a_bomb_by_ratio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_check, "RATIO_FROM_BYTES", 1 << 20)
    path = write_zip(tmp_path / "p.zip", {"zeros": bytes(4 << 20)})
    refuse(path, tmp_path / "out", "a bomb")


def test_too_much(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "p.zip", {"a": b"x" * 1000, "b": b"x" * 1000})
    with pytest.raises(PackageRefused, match="2000 bytes") as refused:
        inspect(path, max_bytes=1999)
    assert "--max-bytes" in (refused.value.hint or "")
    assert len(inspect(path, max_bytes=2000)) == 2


def test_too_many_files_or_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_check, "MAX_ENTRIES", 3)
    path = write_zip(tmp_path / "p.zip", {str(n): b"" for n in range(4)})
    refuse(path, tmp_path / "out", "4 entries")
    path = write_zip(tmp_path / "q.zip", {"a/b/c/x": b"", "a/b/d/x": b""})
    refuse(path, tmp_path / "out-q", "more than 3 folders")


def lie(path: Path, magic: bytes, offset: int, form: str, value: int) -> None:
    """Change a number in the first header that begins with `magic`."""
    raw = bytearray(path.read_bytes())
    struct.pack_into(form, raw, raw.index(magic) + offset, value)
    path.write_bytes(raw)


@pytest.mark.parametrize("size", [10, 1_000_000])
def test_a_size_that_is_a_lie_everywhere(tmp_path: Path, size: int) -> None:
    """Then only unpacking shows it; what was written is in the temporary folder."""
    path = write_zip(tmp_path / "p.zip", {"a": b"x" * 1000})
    lie(path, b"PK\1\2", 24, "<L", size)
    refuse(path, tmp_path / "none", "differ about 'a'")
    lie(path, b"PK\3\4", 22, "<L", size)
    (tmp_path / "out").mkdir()
    with pytest.raises(PackageRefused):
        unpack(path, tmp_path / "out")
    assert sum(p.stat().st_size for p in (tmp_path / "out").iterdir()) <= size


def test_files_that_overlap(tmp_path: Path) -> None:
    """The quoted-overlap construction in short: both entries point at the first file's data."""
    path = write_zip(tmp_path / "p.zip", {"a": b"x" * 50, "b": b"x" * 50})
    raw = bytearray(path.read_bytes())
    second = raw.index(b"PK\1\2", raw.index(b"PK\1\2") + 4)
    struct.pack_into("<L", raw, second + 42, 0)
    path.write_bytes(raw)
    refuse(path, tmp_path / "out", "overlaps|differ")


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: b"#!/bin/sh\n" + raw,
        lambda raw: raw + b"more",
        lambda raw: raw[:-30],
        lambda raw: b"",
        lambda raw: b"PK\5\6" + bytes(18),
        lambda raw: raw.replace(b"PK\1\2", b"XXPK\1\2", 1),
        lambda raw: random.Random(1).randbytes(len(raw)),
    ],
    ids=["prepended", "appended", "cut", "empty", "no entries", "gap", "noise"],
)
def test_what_is_no_plain_zip(
    tmp_path: Path, package: Path, change: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "p.zip"
    path.write_bytes(change(package.read_bytes()))
    with pytest.raises(SfcperfError):
        verify(path)


def test_a_folder_is_no_package(tmp_path: Path) -> None:
    with pytest.raises(SfcperfError):
        verify(tmp_path)
    with pytest.raises(SfcperfError, match="cannot be read"):
        verify(tmp_path / "none.zip")


def test_a_full_disk_is_told_before_it_is_full(
    tmp_path: Path, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "_SPARE_BYTES", 1 << 60)
    with pytest.raises(SfcperfError, match="no room") as lacks:
        unpack(package, tmp_path)
    assert lacks.value.exit_code == 3
    assert not any(tmp_path.iterdir())


@examples(150, HealthCheck.function_scoped_fixture, HealthCheck.too_slow)
@given(data=st.data())
def test_a_mutated_package_is_refused_or_unchanged(
    package: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Bytes changed, cut out or put in anywhere, headers first of all: either it is refused, or
    what is unpacked is what was packed, or verify finds the difference."""
    raw = bytearray(package.read_bytes())
    magics = [i for m in (b"PK\1\2", b"PK\3\4", b"PK\5\6") for i in _all(bytes(raw), m)]
    size = len(raw)
    near = st.sampled_from(magics).flatmap(lambda at: st.integers(at, min(at + 46, size - 1)))
    for _ in range(data.draw(st.integers(1, 4))):
        # Earlier cuts have made it shorter.
        at = data.draw(st.one_of(near, st.integers(0, size - 1))) % max(len(raw), 1)
        kind = data.draw(st.sampled_from(["change", "cut", "insert"]))
        if kind == "change" and raw:
            raw[at] = data.draw(st.integers(0, 255))
        elif kind == "cut":
            del raw[at : at + data.draw(st.integers(1, 40))]
        else:
            raw[at:at] = data.draw(st.binary(min_size=1, max_size=40))
    folder = tmp_path_factory.mktemp("mutated")
    path, out = folder / "p.zip", folder / "out"
    path.write_bytes(raw)
    out.mkdir()
    try:
        unpack(path, out)
    except SfcperfError as error:
        assert error.lines()
    else:
        found = {
            p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*") if p.is_file()
        }
        if found != contents(package):
            check, _ = check_hashes(out, sorted(found))
            assert check.state != "ok"
    assert {p.name for p in folder.iterdir()} == {"p.zip", "out"}
    assert not any(p.is_symlink() for p in out.rglob("*"))


def _all(raw: bytes, magic: bytes) -> list[int]:
    found, at = [], raw.find(magic)
    while at >= 0:
        found.append(at)
        at = raw.find(magic, at + 1)
    return found


@given(st.text(max_size=40))
def test_an_allowed_name_stays_inside(name: str) -> None:
    if name_problem(name) is None:
        path = Path("/base") / name
        assert path.is_relative_to("/base")
        assert ".." not in path.parts
        assert name.isprintable()


@given(st.lists(st.text("aAbB/", min_size=1, max_size=5), max_size=6))
def test_names_without_a_clash_can_all_be_made(names: list[str]) -> None:
    allowed = [name for name in names if name_problem(name) is None]
    if clash(allowed) is None:
        folded = [name.casefold() for name in allowed]
        assert len(set(folded)) == len(folded)
        assert not any(a != b and b.startswith(f"{a}/") for a in folded for b in folded)
