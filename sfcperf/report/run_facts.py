"""A run as a whole: its main facts, the cost of its monitors, its environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfcperf.presentation.wording import date_and_time, run_s, trial_s
from sfcperf.results.records import TrialRecord

_ENVIRONMENT = ("versions", "host", "infrastructure", "design", "command", "phases")


def run_facts(manifest: Mapping[str, Any], trials: Sequence[TrialRecord]) -> list[tuple[str, str]]:
    """The facts at the top of the report."""
    started, took_s = manifest["started_at"], run_s(manifest)
    cpu, kernel = manifest["host"]["cpu"], manifest["host"]["kernel"]
    encapsulations = {str(r.deployment.get("encapsulation", "")) for r in trials} - {"", "none"}
    facts = [
        ("Driver", ", ".join(_drivers(manifest))),
        ("Encapsulation", ", ".join(sorted(encapsulations))),
        ("Started", f"{date_and_time(started)} UTC"),
        ("Duration", "" if took_s is None else f"{took_s:.1f} s"),
        ("CPU", f"{cpu['model']} × {cpu['logical']}" if cpu["logical"] else cpu["model"]),
        ("Kernel", kernel["release"]),
        ("SFCPerf", manifest["sfcperf_version"]),
        ("Seed", str(manifest["seed"])),
    ]
    return [(name, value) for name, value in facts if value]


def monitors(
    manifest: Mapping[str, Any], trials: Sequence[TrialRecord], measured: Mapping[str, float]
) -> list[tuple[str, str, str]]:
    """(Monitor, its stated cost, the CPU time that it used)."""
    in_trials_s = sum(map(trial_s, trials))
    stated = {m["monitor"]: m for m in manifest["monitors"]}
    rows = []
    for name in dict.fromkeys([*stated, *measured]):
        used = measured.get(name, stated.get(name, {}).get("cpu_s"))
        text = "not recorded"
        if used is not None:
            text = f"{used:.3g} s of CPU time"
            if in_trials_s:
                text += f" ({100 * used / in_trials_s:.2g} % of one CPU during trials)"
        rows.append((name, str(stated.get(name, {}).get("cost", "not stated")), text))
    return rows


def environment(manifest: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What the manifest says of machine, versions and design, in the order of interest."""
    return [(name, manifest[name]) for name in _ENVIRONMENT if manifest.get(name)]


def _drivers(manifest: Mapping[str, Any]) -> list[str]:
    """Each driver that the run was built by, once."""
    several = [entry["driver"] for entry in manifest.get("infrastructures") or ()]
    return list(dict.fromkeys(several or [manifest["driver"]]))
