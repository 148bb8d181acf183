"""A run as a whole: its main facts, the cost of its monitors, its environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfcperf.presentation.wording import date_and_time, seconds_between
from sfcperf.results.records import TrialRecord

_ENVIRONMENT = ("versions", "host", "infrastructure", "design", "command", "phases")


def run_facts(manifest: Mapping[str, Any], trials: Sequence[TrialRecord]) -> list[tuple[str, str]]:
    """The facts at the top of the report."""
    ended = manifest.get("ended_at")
    started = str(manifest.get("started_at") or "")
    host = manifest.get("host") or {}
    cpu, kernel = _mapping(host.get("cpu")), _mapping(host.get("kernel"))
    encapsulations = sorted(
        {str(r.deployment.get("encapsulation", "")) for r in trials} - {"", "none"}
    )
    facts = [
        ("Driver", ", ".join(_drivers(manifest))),
        ("Encapsulation", ", ".join(encapsulations)),
        ("Started", f"{date_and_time(started)} UTC" if started else ""),
        ("Duration", f"{seconds_between(started, str(ended)):.1f} s" if started and ended else ""),
        ("CPU", _joined(cpu.get("model"), cpu.get("logical"), "{} × {}")),
        ("Kernel", str(kernel.get("release") or "")),
        ("SFCPerf", str(manifest.get("sfcperf_version") or "")),
        ("Seed", str(manifest.get("seed", ""))),
    ]
    return [(name, value) for name, value in facts if value and value != "None"]


def monitors(
    manifest: Mapping[str, Any], trials: Sequence[TrialRecord], measured: Mapping[str, float]
) -> list[tuple[str, str, str]]:
    """(Monitor, its stated cost, the CPU time that it used)."""
    in_trials_s = sum(seconds_between(record.started_at, record.ended_at) for record in trials)
    stated = {m["monitor"]: m for m in manifest.get("monitors") or () if "monitor" in m}
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
    several = [entry.get("driver") for entry in manifest.get("infrastructures") or ()]
    return [str(name) for name in dict.fromkeys(several or [manifest.get("driver")]) if name]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _joined(first: Any, second: Any, pattern: str) -> str:
    return pattern.format(first, second) if first and second else str(first or "")
