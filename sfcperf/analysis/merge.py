"""The analysis `merge`: joined.parquet (paper: analysis module)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from sfcperf.analysis.base import Analysis
from sfcperf.analysis.joined.merge import joined
from sfcperf.results.files import replacing
from sfcperf.results.store import RunStore


class MergeAnalysis(Analysis):
    """Writes joined.parquet: a row per trial, metric of its probe and telemetry series, with mean,
    min, max, 95th percentile, sum and coverage of the series during the trial."""

    name: ClassVar[str] = "merge"
    title: ClassVar[str] = "What probes measured beside what monitors saw during the same trial"
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }

    def analyse(self, run: RunStore) -> Mapping[str, Any]:
        """Number of rows, and the file that has them. Raises InputError when the run folder is
        damaged."""
        import pyarrow.parquet

        rows = 0
        with (
            joined(run) as batches,
            replacing(run.joined_path) as beside,
            pyarrow.parquet.ParquetWriter(beside, batches.schema) as writer,
        ):
            for batch in batches:
                rows += batch.num_rows
                writer.write_batch(batch)
        return {"run_id": run.run_id, "file": run.joined_path.name, "rows": rows}
