"""What the monitors cost: the CPU time that they measured of themselves."""

from __future__ import annotations

from collections import defaultdict

from sfcperf.results.store import RunStore

METRIC = "monitor_cpu_s"


def monitor_cpu_s(store: RunStore) -> dict[str, float]:
    """Monitor -> CPU time over all trials in telemetry.parquet, seconds.

    A monitor may report its use once per trial or as a running total; the largest value of a
    trial is that of the trial either way.
    """
    if not store.telemetry_path.is_file():
        return {}
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(
        store.telemetry_path,
        columns=["trial_id", "source", "value"],
        filters=[("metric", "=", METRIC)],
    )
    largest: dict[tuple[str, str], float] = defaultdict(float)
    for row in table.to_pylist():
        key = row["source"], row["trial_id"]
        largest[key] = max(largest[key], row["value"])
    total: dict[str, float] = defaultdict(float)
    for (source, _), value in largest.items():
        total[source] += value
    return dict(total)
