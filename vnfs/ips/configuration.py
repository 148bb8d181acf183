"""Suricata's configuration and rules on a host. A host that lacks the configuration gets that of
this machine, with the files that it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sfcperf import yaml_input
from sfcperf.errors import (
    DeploymentError,
    InputError,
    MeasurementError,
    errors_as,
    system_errors_as,
)
from sfcperf.hosts.base import Host

COMMAND_TIMEOUT_S = 30.0
_FILES = {
    "classification-file": "/etc/suricata/classification.config",
    "reference-config-file": "/etc/suricata/reference.config",
    "threshold-file": "/etc/suricata/threshold.config",
    "magic-file": "/usr/share/misc/magic.mgc",
}
"""Setting that names a file beside the rules -> where Debian has it; without the last one,
Suricata does not start."""


def options(host: Host, config: str, folder: Path, own: str) -> list[str]:
    """Return Suricata's options for its configuration `config`, a path, and for its rules and
    `own`, the text of further ones. `folder`: an existing one on the host, for files.

    Raises DeploymentError if neither the host nor this machine has the configuration, or that of
    this machine cannot be read as one; MeasurementError.
    """
    rules = folder / "sfcperf.rules"
    if host.run(["test", "-f", config], timeout_s=COMMAND_TIMEOUT_S, check=False).returncode == 0:
        _write(host, rules, own.encode())
        return ["-c", config, "-s", str(rules)]
    here = Path(config)
    settings = _settings(host, here)
    with system_errors_as(MeasurementError, "cannot be read", where=config):
        all_rules = [*(file.read_bytes() for file in _rule_files(settings)), own.encode()]
    # With `-S` in place of `-s`: the rules that the configuration names are in this file.
    _write(host, rules, b"\n".join(all_rules))
    host.put(here, folder / "suricata.yaml")
    argv = ["-c", str(folder / "suricata.yaml"), "-S", str(rules)]
    for key, usual in _FILES.items():
        named = Path(str(settings.get(key) or usual))
        if named.is_file():
            host.put(named, folder / named.name)
            argv += ["--set", f"{key}={folder / named.name}"]
    return argv


def _settings(host: Host, here: Path) -> Mapping[str, Any]:
    """Read the configuration of this machine, for a host that lacks it. Raises DeploymentError."""
    if not here.is_file():
        raise DeploymentError(
            f"neither {host.name} nor this machine has Suricata's configuration {here}",
            hint="install the package suricata here, or set the IPS's knob `config` or `engine`",
        )
    with (
        system_errors_as(DeploymentError, "cannot be read", where=here),
        errors_as(DeploymentError, InputError),
    ):
        settings = yaml_input.loads(here.read_bytes(), str(here))
    if not isinstance(settings, dict):
        raise DeploymentError(f"{here} is no configuration of Suricata")
    return settings


def _rule_files(settings: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the files of rules that a configuration names and this machine has: paths, below
    `default-rule-path` if they are relative, which may have wildcards."""
    folder = Path("/", str(settings.get("default-rule-path") or ""))
    for name in settings.get("rule-files") or ():
        pattern = (folder / str(name)).relative_to("/")
        yield from sorted(file for file in Path("/").glob(str(pattern)) if file.is_file())


def _write(host: Host, path: Path, data: bytes) -> None:
    # By `tee`, because the host may be another machine.
    host.run(["tee", str(path)], stdin=data, timeout_s=COMMAND_TIMEOUT_S)
