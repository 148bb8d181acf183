"""Signatures: made and checked by ssh-keygen and minisign; the tools themselves are the judges."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from support.network.ssh_servers import new_key
from support.records.packages import OPTIONS, changed

from sfcperf.errors import InputError
from sfcperf.package.pack import pack
from sfcperf.package.signature import check_signature, sign, signer
from sfcperf.results.store import RunStore

ssh_only = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is missing")
minisign_only = pytest.mark.skipif(shutil.which("minisign") is None, reason="minisign is missing")


def ssh_key(folder: Path, name: str = "key") -> tuple[Path, Path]:
    """A key, and a file that allows it to `ada@lab`."""
    key = folder / name
    allowed = folder / f"{name}.allowed"
    allowed.write_text(f"ada@lab {new_key(key)}\n")
    return key, allowed


def minisign_key(folder: Path, name: str = "mini") -> tuple[Path, Path]:
    secret, public = folder / f"{name}.key", folder / f"{name}.pub"
    make = ["minisign", "-G", "-W", "-p", str(public), "-s", str(secret)]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    return secret, public


@pytest.fixture
def paper(package: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(package, tmp_path / "paper.zip"))


def test_without_a_signature_that_is_said(paper: Path, tmp_path: Path) -> None:
    check = check_signature(paper)
    assert check.state == "absent"
    assert "not proven" in check.detail
    (tmp_path / "allowed").touch()
    for asked in ({"allowed_signers": tmp_path / "allowed"}, {"public_key": "RWQ"}):
        assert check_signature(paper, **asked).state == "failed"  # type: ignore[arg-type]


@ssh_only
def test_ssh(paper: Path, tmp_path: Path) -> None:
    key, allowed = ssh_key(tmp_path)
    signature = sign(paper, signer(f"ssh:{key}"))
    assert signature == tmp_path / "paper.zip.sig"
    judge = ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", "ada@lab"]
    with paper.open("rb") as file:
        done = subprocess.run(
            [*judge, "-n", "sfcperf-package", "-s", str(signature)], stdin=file, check=False
        )
    assert done.returncode == 0

    check = check_signature(paper, allowed_signers=allowed)
    assert check.state == "ok"
    assert "ada@lab" in check.detail
    unknown = check_signature(paper)
    assert unknown.state == "not checked"
    assert "SHA256:" in unknown.detail
    _, others = ssh_key(tmp_path, "other")
    somebody_else = check_signature(paper, allowed_signers=others)
    assert somebody_else.state == "failed"
    assert "not in other.allowed" in somebody_else.detail


@ssh_only
def test_ssh_for_another_purpose(paper: Path, tmp_path: Path) -> None:
    key, allowed = ssh_key(tmp_path)
    make = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", "file", str(paper)]
    subprocess.run(make, check=True)
    assert check_signature(paper, allowed_signers=allowed).state == "failed"
    assert check_signature(paper).state == "failed"


@ssh_only
@minisign_only
@pytest.mark.parametrize("tool", ["ssh", "minisign"])
def test_a_package_that_was_changed_later(package: Path, tmp_path: Path, tool: str) -> None:
    paper = Path(shutil.copy(package, tmp_path / "paper.zip"))
    key, vouching = (ssh_key if tool == "ssh" else minisign_key)(tmp_path)
    sign(paper, signer(f"{tool}:{key}"))
    changed(package, paper, "README.md", b"other")
    keys = {"allowed_signers": vouching} if tool == "ssh" else {"public_key": str(vouching)}
    check = check_signature(paper, **keys)  # type: ignore[arg-type]
    assert check.state == "failed"
    assert "does not hold" in check.detail


@minisign_only
def test_minisign(paper: Path, tmp_path: Path) -> None:
    key, public = minisign_key(tmp_path)
    signature = sign(paper, signer(f"minisign:{key}"))
    assert signature == tmp_path / "paper.zip.minisig"
    judge = ["minisign", "-V", "-q", "-p", str(public), "-m", str(paper)]
    assert subprocess.run(judge, check=False).returncode == 0
    assert check_signature(paper, public_key=str(public)).state == "ok"
    text = public.read_text().splitlines()[1]
    assert check_signature(paper, public_key=text).state == "ok"
    assert check_signature(paper).state == "not checked"
    _, other = minisign_key(tmp_path, "other")
    assert check_signature(paper, public_key=str(other)).state == "failed"


@ssh_only
def test_what_is_packed_anew_loses_its_old_signature(
    package: Path, paper: Path, tmp_path: Path
) -> None:
    key, _ = ssh_key(tmp_path)
    signature = sign(paper, signer(f"ssh:{key}"))
    store = RunStore.open(package.parent / "run-1")
    pack([store], paper, replace(OPTIONS, overwrite=True))
    assert not signature.exists()


def test_what_names_no_way_to_sign_or_no_key(tmp_path: Path) -> None:
    for text in ("", "ssh:", "gpg:key", "key"):
        with pytest.raises(InputError, match="not a way to sign"):
            signer(text)
    with pytest.raises(InputError, match="no such key"):
        signer(f"ssh:{tmp_path / 'none'}")
