"""SFCPerf itself in a package: its wheel, and what the wheel needs, with versions and hashes."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, PathDistribution, version
from pathlib import Path
from typing import Any

import sfcperf
from sfcperf.environment.variables import without_secrets
from sfcperf.errors import EnvironmentLacks, InputError
from sfcperf.package import layout
from sfcperf.package.environment import python_packages
from sfcperf.package.kit.wheel import wheel
from sfcperf.package.modules import OWN, requirement_name
from sfcperf.results.provenance.software import python_versions

_FOR_DEVELOPERS = ("test", "docs", "dev")
"""Extras that no run needs."""
_EXTRA = re.compile(r"extra\s*==\s*['\"]([A-Za-z0-9._-]+)['\"]")
_PIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.!+_-]+")


@dataclass(frozen=True)
class Software:
    """SFCPerf as it is packed."""

    files: Mapping[str, Path]
    """Name in the package -> file."""
    document: Mapping[str, Any]
    """What package.json says of it, as `software`."""
    warnings: tuple[str, ...]
    """How the packed SFCPerf differs from those that made the runs, as sentences."""


def software(folder: Path, manifests: Sequence[Mapping[str, Any]]) -> Software:
    """Make the wheel and the list of what it needs, in an empty folder. `manifests`: run.json of
    the runs to be packed.

    Raises InputError if another version of SFCPerf made a run; EnvironmentLacks if the wheel cannot
    be built here, or uv or the package index is not there, which knows the hashes.
    """
    for manifest in manifests:
        if manifest["sfcperf_version"] != sfcperf.__version__:
            raise InputError(
                f"the run {manifest['run_id']} was made with SFCPerf "
                f"{manifest['sfcperf_version']}; here is {sfcperf.__version__}",
                where="--with-sfcperf",
                hint="pack with the SFCPerf that made the run",
            )
    made = wheel(folder)
    needed = folder / layout.REQUIREMENTS.rpartition("/")[2]
    extras = _extras(_metadata_of(made))
    needed.write_text(_locked(made, extras, folder))
    name = f"{layout.SOFTWARE}/{made.name}"
    return Software(
        files={name: made, layout.REQUIREMENTS: needed},
        document={
            "wheel": name,
            "requirements": layout.REQUIREMENTS,
            "extras": extras,
            "python": ".".join(platform.python_version_tuple()[:2]),
        },
        warnings=tuple(_other_commits(manifests)),
    )


def _metadata_of(file: Path) -> Distribution:
    """The distribution in a wheel."""
    folder = "-".join(file.name.split("-")[:2]) + ".dist-info/"
    return PathDistribution(zipfile.Path(file, folder))


def _extras(distribution: Distribution) -> list[str]:
    """Return the extras of SFCPerf that are installed here, but those for developers."""
    needs: dict[str, list[str]] = {}
    for requirement in distribution.requires or ():
        if match := _EXTRA.search(requirement):
            needs.setdefault(match[1], []).append(requirement_name(requirement))
    return sorted(
        extra
        for extra, names in needs.items()
        if extra not in _FOR_DEVELOPERS and all(map(_is_installed, names))
    )


def _is_installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def _locked(file: Path, extras: Sequence[str], folder: Path) -> str:
    """Return what the wheel needs as a requirements file with hashes, in the versions that are
    installed here. Raises EnvironmentLacks."""
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.exists() else shutil.which("uv")
    if uv is None:
        raise EnvironmentLacks(
            "there is no uv, which lists the hashes of Python packages",
            where="--with-sfcperf",
            hint=f"{sys.executable} -m pip install uv",
        )
    wanted = folder / "requirements.in"
    wanted.write_text(f"{OWN}[{','.join(extras)}] @ {file.resolve().as_uri()}\n")
    pins = folder / "constraints.txt"
    lines = python_packages().splitlines()
    pins.write_text("".join(f"{n}\n" for n in lines if _PIN.fullmatch(n) and _name(n) != OWN))
    options = ("--generate-hashes", "--no-header", "--no-annotate", "--quiet")
    without = ("--no-emit-package", OWN, "--python", sys.executable)
    done = subprocess.run(
        [uv, "pip", "compile", *options, *without, "--constraint", str(pins), str(wanted)],
        env=without_secrets(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise EnvironmentLacks(
            f"uv cannot list the hashes of Python packages: {' '.join(done.stderr.split())[:300]}",
            where="--with-sfcperf",
            hint="it asks the package index, and needs it to have the versions installed here",
        )
    return done.stdout


def _name(pin: str) -> str:
    return pin.partition("==")[0]


def _other_commits(manifests: Sequence[Mapping[str, Any]]) -> list[str]:
    """Warn of runs that another commit of SFCPerf made than that which is packed, and if that has
    changes since its commit."""
    revision = python_versions()["revision"] or {}
    here = revision.get("commit")
    changed = [f"the wheel in {layout.SOFTWARE}/ is of a changed working tree of SFCPerf"]
    return (changed if revision.get("modified") else []) + [
        f"{manifest['run_id']} was made with the commit {made} of SFCPerf, and the wheel in "
        f"{layout.SOFTWARE}/ is of {here or 'a release'}"
        for manifest in manifests
        if (made := (manifest["versions"].get("revision") or {}).get("commit")) != here
    ]
