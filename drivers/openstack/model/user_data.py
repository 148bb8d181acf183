"""User data of a machine: sfcperf's own script, and that of the VNF descriptor."""

from __future__ import annotations

from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

_SHELLS = ("sh", "ash", "dash", "bash")


def joined(framework: str, own: str | None) -> str:
    """Join `framework`, sfcperf's script for `/bin/sh`, with the descriptor's user data, `own`
    (None: it has none), of a format that has a `mime_subtype`.

    Two shell scripts become one, which guests without cloud-init can run too. Other formats
    (`#cloud-config`, another interpreter) go beside ours as multipart (cloud-init, "User data
    formats").
    """
    if own is None:
        return framework
    text = own.replace("\r\n", "\n")
    head, _, body = text.partition("\n")
    shell, options = _shell(head)
    if shell is not None:
        first = f"#!/bin/{shell}" if shell == "bash" else "#!/bin/sh"
        return "\n".join([first, *framework.splitlines()[1:], *options, body])
    parts = MIMEMultipart(boundary="==sfcperf==")
    for part in (framework, own):
        parts.attach(MIMEText(part, str(mime_subtype(part))))
    return parts.as_string()


def _shell(head: str) -> tuple[str | None, list[str]]:
    """Return the shell that a first line names, and its options as commands (`set -e`); None, and
    no options, if it names no shell."""
    words = head.removeprefix("#!").split()
    if not head.startswith("#!") or not words:
        return None, []
    path, *options = (words[1:] or words) if words[0].endswith("/env") else words
    name = path.rpartition("/")[2]
    return (name, [f"set {each}" for each in options]) if name in _SHELLS else (None, [])


def mime_subtype(text: str) -> str | None:
    """MIME subtype of user data; None for a format that cannot be joined with ours."""
    if text.startswith("#!"):
        return "x-shellscript"
    return "cloud-config" if text.split("\n", 1)[0].strip() == "#cloud-config" else None
