"""User data of a machine: ours and the descriptor's, as a shell and as cloud-init take them."""

from __future__ import annotations

import email
import subprocess
from pathlib import Path

import pytest

from sfcperf.drivers.openstack.model.user_data import joined, mime_subtype
from sfcperf.hosts.ssh.pins import USER_DATA

OURS = "#!/bin/sh\necho ours\n"


@pytest.mark.parametrize(
    "shell",
    ["#!/bin/sh", "#!/usr/bin/env bash", "#! /bin/dash", "#!/bin/sh -e", "#!/bin/sh\r"],
)
def test_two_scripts_of_shells_run_as_one(shell: str, tmp_path: Path) -> None:
    end = "\r\n" if shell.endswith("\r") else "\n"
    own = end.join([shell.strip(), "set -u", "echo own", "exit 0", ""])
    script = tmp_path / "script"
    script.write_text(joined(OURS, own), newline="")
    script.chmod(0o755)
    ran = subprocess.run([script], capture_output=True, check=True)
    assert ran.stdout == b"ours\nown\n"


def test_options_of_a_shell_hold_for_its_own_script() -> None:
    script = joined("#!/bin/sh\nfalse\necho ours\n", "#!/bin/sh -e\nfalse\necho own\n")
    ran = subprocess.run(["sh"], input=script.encode(), capture_output=True, check=False)
    assert (ran.returncode, ran.stdout) == (1, b"ours\n")


@pytest.mark.parametrize(
    ("own", "kind"),
    [
        ("#cloud-config\npackages: [nftables]\n", "text/cloud-config"),
        ("#!/usr/bin/python3\nprint('ü')\n", "text/x-shellscript"),
    ],
)
def test_others_go_as_multipart(own: str, kind: str) -> None:
    """Read by the standard library, as cloud-init does."""
    message = email.message_from_string(joined(USER_DATA, own))
    first, second = message.get_payload()  # type: ignore[misc]
    assert first.get_content_type() == "text/x-shellscript"
    assert first.get_payload(decode=True).decode() == USER_DATA
    assert second.get_content_type() == kind
    assert second.get_payload(decode=True).decode() == own


def test_what_cloud_init_would_not_know() -> None:
    assert joined(OURS, None) == OURS
    assert mime_subtype("packages: [nftables]\n") is None
    assert mime_subtype("#cloud-config-archive\n- x\n") is None
