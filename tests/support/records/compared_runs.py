"""Run folders to compare: ping in chains of some lengths, with a known ratio to the baseline."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore
from support.records.manifests import metric
from support.records.trials import RTT, run_folder, trial

LOSS = metric("loss_ratio", "1", "share of lost echoes", better="lower")


def ping_run(
    folder: Path,
    scenarios: Sequence[Mapping[str, Any]] = ({"chain_length": 0}, {"chain_length": 1}),
    *,
    ratio: float = 1.0,
    rounds: int = 8,
    seed: int = 1,
    metrics: Sequence[Mapping[str, Any]] = (RTT, LOSS),
    bad: Mapping[tuple[int, str], str] | None = None,
    design: Mapping[str, Any] | None = None,
    **manifest: Any,
) -> RunStore:
    """Samples are in the units of `metrics`. RTTs of 100 us * (1 + chain length) * ratio, 1 %
    dispersion; `bad`: (round, scenario id) ->
    status. A scenario with the level `ebpf` of `variant` is a tenth faster."""
    draw = random.Random(seed)
    ids = [f"s{number:03d}" for number in range(len(scenarios))]
    units = {metric["name"]: metric["unit"] for metric in metrics}
    records = [
        _in_units(
            _record(
                draw, number, identity, levels, ratio, (bad or {}).get((number, identity), "valid")
            ),
            units,
        )
        for number in range(1, rounds + 1)
        for identity, levels in zip(ids, scenarios, strict=True)
    ]
    return run_folder(
        folder,
        records,
        probes=[{"probe": "ping", "label": "ping", "scenarios": ids, "metrics": list(metrics)}],
        scenarios=[{"id": i, "levels": dict(s)} for i, s in zip(ids, scenarios, strict=True)],
        design={"rounds": rounds, **(design or {})},
        **manifest,
    )


def _in_units(record: TrialRecord, units: Mapping[str, str]) -> TrialRecord:
    samples = ({**one, "unit": units.get(one["metric"], one["unit"])} for one in record.samples)
    return replace(record, samples=tuple(samples))


def variants_run(folder: Path, rounds: int = 12, **more: Any) -> RunStore:
    """A run with the variants `ovs` and `ebpf`."""
    scenarios = [
        {"variant": variant, "chain_length": length}
        for variant in ("ovs", "ebpf")
        for length in (0, 1)
    ]
    variants = [
        {"name": "ovs", "changes": {}},
        {"name": "ebpf", "changes": {"infrastructure.config.dataplane": "ebpf"}},
    ]
    return ping_run(folder, scenarios, rounds=rounds, variants=variants, **more)


def _record(
    draw: random.Random,
    number: int,
    identity: str,
    levels: Mapping[str, Any],
    ratio: float,
    status: Any,
) -> TrialRecord:
    fast = 0.9 if levels.get("variant") == "ebpf" else 1.0
    rtt = 100 * (1 + levels.get("chain_length", 0)) * ratio * fast * draw.gauss(1, 0.01)
    samples = (
        {"metric": "rtt_us", "unit": "us", "value": rtt},
        {"metric": "loss_ratio", "unit": "1", "value": 0.0},
    )
    return trial(number, identity, scenario=dict(levels), status=status, samples=samples)
