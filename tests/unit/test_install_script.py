"""playbooks/install.sh: uv installs, or pip where its settings name a registry.

pip and uv are stand-ins: what is installed, and from which registry, is `make setup`'s to show.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "playbooks" / "install.sh"
SETTINGS = ("UV_FIND_LINKS", "SSL_CERT_FILE", "UV_NO_CACHE")
PIP_INSTALL = "-m pip install --quiet --disable-pip-version-check --no-input"

PYTHON = """#!/bin/sh
# Its pip shows the settings in {config}, and installs {uv}.
case "$*" in
    '-m pip config list') cat {config} ;;
    *) echo "$*" >>{log}; cp {config}.uv {uv} ;;
esac
"""
UV = """#!/bin/sh
printf '%s\\n' "$*" {settings} >>{log}
"""


class Environment:
    """A virtual environment, or what of it the script calls."""

    def __init__(self, folder: Path) -> None:
        (folder / "bin").mkdir(parents=True)
        self.folder = folder
        self.python = folder / "bin" / "python"
        self._log = folder / "log"
        self._config = folder / "config"
        places = {"config": self._config, "log": self._log, "uv": folder / "bin" / "uv"}
        named = " ".join(f'"{name}=${{{name}-}}"' for name in SETTINGS)
        self._executable(self.python, PYTHON.format(**places))
        self._executable(folder / "config.uv", UV.format(settings=named, log=self._log))

    @staticmethod
    def _executable(path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)

    def install(self, config: str = "", home: Path | None = None) -> list[str]:
        """What was called, and with which settings, a line each."""
        self._config.write_text(config)
        variables = {name: value for name, value in os.environ.items() if name not in SETTINGS}
        subprocess.run(
            [str(SCRIPT), str(self.folder), "dev"],
            env={**variables, "HOME": str(home or self.folder)},
            stdin=subprocess.DEVNULL,
            timeout=30,
            check=True,
        )
        return self._log.read_text().splitlines()


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "venv")


def test_pip_installs_uv_which_installs_the_project(environment: Environment) -> None:
    assert environment.install() == [
        f"{PIP_INSTALL} uv>=0.13",
        f"pip install --quiet --python {environment.python} --editable .[dev]",
        *(f"{name}=" for name in SETTINGS),
    ]


@pytest.mark.parametrize("setting", [":env:.index-url", "global.no-index", "install.proxy"])
def test_pip_installs_from_a_registry_of_its_own(environment: Environment, setting: str) -> None:
    assert environment.install(f"{setting}='x'\n") == [f"{PIP_INSTALL} --editable .[dev]"]


@pytest.mark.parametrize(
    ("links", "passed_on"),
    [("/wheels", "/wheels"), ("/a /b", "/a,/b"), (r"\n/a\n/b", ",/a,/b")],
)
def test_folders_of_wheels_and_certificates_are_passed_on(
    environment: Environment, links: str, passed_on: str
) -> None:
    config = f"global.cert='/etc/lab.pem'\nglobal.find-links='{links}'\n:env:.find-links=''\n"
    settings = environment.install(config)[2:]
    assert settings[:2] == [f"UV_FIND_LINKS={passed_on}", "SSL_CERT_FILE=/etc/lab.pem"]


def test_no_cache_in_the_home_of_somebody_else(environment: Environment) -> None:
    assert environment.install(home=Path("/nonexistent"))[-1] == "UV_NO_CACHE=1"
