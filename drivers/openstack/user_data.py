"""User data of a machine: what sfcperf has it do, and what its VNF descriptor has it do."""

from __future__ import annotations

from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

_SHELLS = ("#!/bin/sh", "#!/bin/bash", "#!/usr/bin/env sh", "#!/usr/bin/env bash")


def joined(ours: str, own: str | None) -> str:
    """Both of them. `ours` is a script for `/bin/sh`.

    Two scripts for a shell become one, which guests without cloud-init can run too; what speaks to
    cloud-init otherwise (`#cloud-config`, another interpreter) is packed beside ours, as
    multipart (cloud-init, "User data formats"). `own` has a `subtype`.
    """
    if own is None:
        return ours
    head, _, body = own.partition("\n")
    if " ".join(head.split()).replace("#! ", "#!") in _SHELLS:
        return "\n".join([head, *ours.splitlines()[1:], body])
    parts = MIMEMultipart(boundary="==sfcperf==")
    for text in (ours, own):
        parts.attach(MIMEText(text, str(subtype(text))))
    return parts.as_string()


def subtype(text: str) -> str | None:
    """MIME subtype of user data; None: of none that can be joined with ours."""
    known = {"#!": "x-shellscript", "#cloud-config": "cloud-config"}
    return next((kind for start, kind in known.items() if text.startswith(start)), None)
