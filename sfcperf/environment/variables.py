"""Environment variables: which of them are secrets, and what child processes get."""

from __future__ import annotations

import os
import re

from sfcperf.workflow.profile import URL_WITH_PASSWORD

_SECRET_NAME = re.compile(
    r"PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|API_?KEY|CREDENTIAL|_PWD$", re.IGNORECASE
)


def secrets() -> dict[str, str]:
    """Variables of this process that are secrets by their name, or as URLs with a password."""
    return {
        name: value
        for name, value in os.environ.items()
        if _SECRET_NAME.search(name) or URL_WITH_PASSWORD.search(value)
    }


def without_secrets() -> dict[str, str]:
    """The environment of a child process: /proc shows it as long as that runs, and no tool needs
    what sfcperf logs in with."""
    hidden = secrets()
    return {name: value for name, value in os.environ.items() if name not in hidden}
