"""playbooks/install.sh: uv installs, from where pip's settings say.

pip and uv are stand-ins: what is installed, and from which registry, is `make setup`'s to show.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "playbooks" / "install.sh"
SETTINGS = ("UV_DEFAULT_INDEX", "UV_INDEX", "UV_FIND_LINKS", "SSL_CERT_FILE")


class Environment:
    """A virtual environment, or what of it the script calls."""

    def __init__(self, folder: Path) -> None:
        self.scripts = folder / "bin"
        self.scripts.mkdir(parents=True)
        self.log = folder / "log"
        self._config = folder / "config"
        self._script(
            "python",
            f"""case "$*" in
    '-m pip config list') cat {self._config} ;;
    '-m pip install'*) echo "$*" >>{self.log} ;;
esac""",
        )

    def _script(self, name: str, text: str) -> None:
        (self.scripts / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.scripts / name).chmod(0o755)

    def has_uv(self) -> None:
        named = " ".join(f'"{name}=${{{name}-}}"' for name in SETTINGS)
        self._script("uv", f'printf "%s\\n" "$*" {named} >>{self.log}')

    def install(self, config: str = "") -> list[str]:
        """What was called, and with which settings, a line each."""
        self._config.write_text(config)
        own = {name: value for name, value in os.environ.items() if name not in SETTINGS}
        argv = [str(SCRIPT), str(self.scripts.parent), "dev"]
        subprocess.run(argv, env=own, stdin=subprocess.DEVNULL, timeout=30, check=False)
        return self.log.read_text().splitlines()


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "venv")


def test_uv_installs_the_project_with_its_extra(environment: Environment) -> None:
    environment.has_uv()
    called, *settings = environment.install()
    python = environment.scripts / "python"
    assert called == f"pip install --quiet --python {python} --editable .[dev]"
    assert settings == [f"{name}=" for name in SETTINGS]


def test_pip_installs_uv_where_it_is_not(environment: Environment) -> None:
    assert environment.install()[0].endswith("--no-input uv>=0.13")


def test_a_mirror_that_pip_is_told_of_is_uvs_too(environment: Environment) -> None:
    environment.has_uv()
    found = environment.install(
        ":env:.find-links='/srv/wheels'\n"
        "global.cert='/etc/lab.pem'\n"
        "global.extra-index-url='https://a.example/simple\\nhttps://b.example/simple'\n"
        "global.index-url='https://mirror.example/simple'\n"
        "install.index-url='https://near.example/simple'\n"
    )
    assert found[1:] == [
        "UV_DEFAULT_INDEX=https://near.example/simple",
        "UV_INDEX=https://a.example/simple https://b.example/simple",
        "UV_FIND_LINKS=/srv/wheels",
        "SSL_CERT_FILE=/etc/lab.pem",
    ]
