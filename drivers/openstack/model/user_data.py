"""User data of a machine: what sfcperf has it do, and what its VNF descriptor has it do."""

from __future__ import annotations

from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

_SHELLS = ("sh", "ash", "dash", "bash")


def joined(ours: str, own: str | None) -> str:
    """Both of them. `ours` is a script for `/bin/sh`.

    Two scripts for a shell become one, which guests without cloud-init can run too; what speaks to
    cloud-init otherwise (`#cloud-config`, another interpreter) is packed beside ours, as
    multipart (cloud-init, "User data formats"). `own` has a `subtype`.
    """
    if own is None:
        return ours
    text = own.replace("\r\n", "\n")
    head, _, body = text.partition("\n")
    shell, options = _shell(head)
    if shell is not None:
        first = f"#!/bin/{shell}" if shell == "bash" else "#!/bin/sh"
        return "\n".join([first, *ours.splitlines()[1:], *options, body])
    parts = MIMEMultipart(boundary="==sfcperf==")
    for part in (ours, own):
        parts.attach(MIMEText(part, str(subtype(part))))
    return parts.as_string()


def _shell(head: str) -> tuple[str | None, list[str]]:
    """Name of the shell that a first line calls, and its options as commands; None: no shell."""
    words = head.removeprefix("#!").split()
    if not head.startswith("#!") or not words:
        return None, []
    path, *options = (words[1:] or words) if words[0].endswith("/env") else words
    name = path.rpartition("/")[2]
    return (name, [f"set {each}" for each in options]) if name in _SHELLS else (None, [])


def subtype(text: str) -> str | None:
    """MIME subtype of user data; None: of none that can be joined with ours."""
    if text.startswith("#!"):
        return "x-shellscript"
    return "cloud-config" if text.split("\n", 1)[0].strip() == "#cloud-config" else None
