"""A run as a whole: its main facts, the cost of its monitors, its environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfcperf.presentation.wording import date_and_time, run_s
from sfcperf.results.records import TrialRecord

_ENVIRONMENT = ("versions", "host", "infrastructure", "design", "command", "phases")
"""Keys of run.json that the report shows as its environment, in order."""
_NOTABLE_CORES = 0.05
"""If a monitor uses more CPUs than this while a probe measures, the report says so."""


def run_facts(manifest: Mapping[str, Any], trials: Sequence[TrialRecord]) -> list[tuple[str, str]]:
    """Return (name, value) of the facts at the top of the report; unknown ones are left out."""
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
    manifest: Mapping[str, Any],
    trials: Sequence[TrialRecord],
    cpu_s: Mapping[str, float],
    cores: Mapping[str, float],
) -> list[tuple[str, str, str]]:
    """Return (monitor, its stated cost, what it used), all as texts. `cpu_s`: CPU time of each
    monitor, seconds; `cores`: CPUs that it used while probes measured; both from
    sfcperf.results.tables.telemetry."""
    in_trials_s = sum(record.duration_s for record in trials)
    stated = {m["monitor"]: m for m in manifest["monitors"]}
    rows = []
    for name in dict.fromkeys([*stated, *cpu_s]):
        used = cpu_s.get(name, stated.get(name, {}).get("cpu_s"))
        text = "not recorded"
        if used is not None:
            text = f"{used:.3g} s of CPU time"
            if in_trials_s:
                text += f" ({100 * used / in_trials_s:.2g} % of one CPU during trials)"
            if name in cores:
                text += f", {100 * cores[name]:.2g} % of one CPU while probes measured"
        rows.append((name, str(stated.get(name, {}).get("cost", "not stated")), text))
    return rows


def dear_monitors(cores: Mapping[str, float]) -> list[str]:
    """Return a sentence for each monitor that may have slowed down what was measured."""
    return [
        f"The monitor {name} used {100 * used:.2g} % of one CPU while probes measured, which can "
        "slow down what they measured: compare with a run without it."
        for name, used in cores.items()
        if used > _NOTABLE_CORES
    ]


def environment(manifest: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return what the manifest says of machine, versions and design, most interesting first."""
    return [(name, manifest[name]) for name in _ENVIRONMENT if manifest.get(name)]


def _drivers(manifest: Mapping[str, Any]) -> list[str]:
    """Return the drivers that built the run's chains, each once."""
    several = [entry["driver"] for entry in manifest.get("infrastructures") or ()]
    return list(dict.fromkeys(several or [manifest["driver"]]))
