"""Host keys from a console: what USER_DATA prints, and what is read from among other lines."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.network.ssh_servers import new_key

from sfcperf.hosts.ssh.pins import USER_DATA, pins

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBT65W+GcT9aPZdHFpdgUODMGq8jFkIwS1+XVg+p3ykT"
OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB1mTMfVcc41w4lzwg7MU97ZTktqb1+OXFqBWEk3Rtv3"
noise = st.text(max_size=80).filter(lambda text: "host-key" not in text and "SSH HOST" not in text)
keys = st.lists(st.sampled_from([KEY, OTHER]), max_size=5)


@given(keys, st.lists(noise, min_size=6, max_size=6), st.sampled_from(["\n", "\r\n"]))
def test_keys_are_found_among_anything(wanted: list[str], noises: list[str], end: str) -> None:
    lines = [noises[-1]]
    for key, text in zip(wanted, noises, strict=False):
        lines += [f"sfcperf: host-key {key}", text]
    assert list(pins(end.join(lines))) == list(dict.fromkeys(wanted))


@given(st.text(max_size=400))
def test_anything_is_read(text: str) -> None:
    for key in pins(f"sfcperf: host-key ssh-ed25519 {text}"):
        assert key.startswith("ssh-ed25519 AAAA")


@given(st.integers(1, len(KEY) - 1), st.text(min_size=1, max_size=30))
def test_a_key_that_was_printed_into_is_left_out(place: int, text: str) -> None:
    broken = f"sfcperf: host-key {KEY[:place]}\n[ 3.14] {text}\n{KEY[place:]}\n"
    assert KEY not in pins(broken)
    assert pins(broken + f"sfcperf: host-key {KEY}\n")[-1] == KEY


@given(st.integers(0, 67), st.sampled_from("ABCDabcd0123+/"))
def test_another_letter_is_another_key_or_none(place: int, letter: str) -> None:
    blob = KEY.split()[1]
    changed = blob[:place] + letter + blob[place + 1 :]
    found = pins(f"sfcperf: host-key ssh-ed25519 {changed}")
    assert (KEY in found) == (changed == blob)


def test_the_block_of_cloud_init(tmp_path: Path) -> None:
    argv = ["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-C", "", "-f", str(tmp_path / "key")]
    subprocess.run(argv, check=True)
    ecdsa = (tmp_path / "key.pub").read_text().strip()
    console = f"""\
[   14.1] cloud-init[412]: Cloud-init v. 22.4.2 finished
<14>Nov 21 09:51:00 ec2: -----BEGIN SSH HOST KEY FINGERPRINTS-----
<14>Nov 21 09:51:00 ec2: 256 SHA256:abc root@host (ED25519)
<14>Nov 21 09:51:00 ec2: -----END SSH HOST KEY FINGERPRINTS-----
-----BEGIN SSH HOST KEY KEYS-----\r
{ecdsa} root@host\r
{KEY} root@host\r
-----END SSH HOST KEY KEYS-----\r
host login: {OTHER}
"""
    assert pins(console) == (ecdsa, KEY)


def test_a_kind_that_is_not_the_blob_s() -> None:
    assert pins(f"sfcperf: host-key ssh-rsa {KEY.split()[1]}\n") == ()


pytestmark = pytest.mark.filterwarnings("ignore::cryptography.utils.CryptographyDeprecationWarning")


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, str]:
    """A key of dropbear, and its public half as dropbear has it."""
    if shutil.which("dropbearkey") is None:
        pytest.skip("needs the package dropbear-bin")
    key = tmp_path / "key"
    subprocess.run(
        ["dropbearkey", "-t", "ed25519", "-f", str(key)], check=True, capture_output=True
    )
    argv = ["dropbearkey", "-y", "-f", str(key)]
    said = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    line = next(line for line in said.splitlines() if line.startswith("ssh-ed25519"))
    return key, " ".join(line.split()[:2])


def _printed(tmp_path: Path, shell: list[str], commands: dict[str, str], *, late: float = 0) -> str:
    """What USER_DATA prints where only `commands` can be found (name -> path)."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, target in commands.items():
        (folder / name).symlink_to(target)
    console = tmp_path / "console"
    console.touch()
    script = USER_DATA.replace("/dev/console", f"{console}.new").replace(
        "/etc/", f"{tmp_path}/etc/"
    )
    # A file is not a console: each line begins at its start.
    script = script.replace(f">{console}.new", f">>{console}") + "\nwait\n"
    subprocess.run([*shell, "-c", script], env={"PATH": str(folder)}, timeout=20, check=False)
    return console.read_text()


APPLETS = ("head", "tail", "tr", "sleep", "sed", "grep")
BUSYBOX = dict.fromkeys(APPLETS, "/bin/busybox")


def _install(key: Path, root: Path) -> Path:
    """Where dropbear looks for its keys."""
    folder = root / "etc/dropbear"
    folder.mkdir(parents=True)
    shutil.copy(key, folder / "dropbear_ed25519_host_key")
    return folder


@pytest.mark.parametrize("encoder", ["base64", "uuencode"])
def test_a_busybox_guest(tmp_path: Path, made: tuple[Path, str], encoder: str) -> None:
    """dash, since busybox's own shell finds all its applets without a path."""
    _install(made[0], tmp_path)
    commands = {**BUSYBOX, encoder: "/bin/busybox"}
    assert pins(_printed(tmp_path, ["/bin/dash"], commands)) == (made[1],)


def test_a_guest_with_dropbearkey(tmp_path: Path, made: tuple[Path, str]) -> None:
    folder = _install(made[0], tmp_path)
    (folder / "dropbear_rsa_host_key").touch()
    commands = {**BUSYBOX, "dropbearkey": shutil.which("dropbearkey") or ""}
    assert pins(_printed(tmp_path, ["/bin/busybox", "sh"], commands)) == (made[1],)


def test_a_guest_with_openssh(tmp_path: Path) -> None:
    folder = tmp_path / "etc/ssh"
    folder.mkdir(parents=True)
    key = folder / "ssh_host_ed25519_key"
    public = new_key(key)
    for number, shell in enumerate((["/bin/busybox", "sh"], ["/bin/dash"], ["/bin/bash"])):
        place = tmp_path / str(number)
        shutil.copytree(tmp_path / "etc", place / "etc")
        assert pins(_printed(place, shell, BUSYBOX)) == (public,)


def test_a_key_that_is_made_later(tmp_path: Path, made: tuple[Path, str]) -> None:
    """`dropbear -R` makes it when somebody connects."""
    folder = tmp_path / "etc/dropbear"
    folder.mkdir(parents=True)
    script = f"sleep 1; cp {made[0]} {folder}/dropbear_ed25519_host_key"
    with subprocess.Popen(["sh", "-c", script], env=os.environ):
        printed = _printed(tmp_path, ["/bin/busybox", "sh"], {**BUSYBOX, "base64": "/bin/busybox"})
    assert pins(printed) == (made[1],)
