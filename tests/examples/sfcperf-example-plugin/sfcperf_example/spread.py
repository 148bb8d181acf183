"""spread: how far apart the trials of each scenario are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from sfcperf.analysis.base import Analysis
from sfcperf.results.files import replace_file
from sfcperf.results.store import RunStore
from sfcperf.results.trial_values import trial_means


class Spread(Analysis):
    """Writes spread.json into the run folder: the largest trial of each scenario and metric over
    the smallest, valid trials only, and those rows that are beyond a limit."""

    name: ClassVar[str] = "spread"
    title: ClassVar[str] = "Largest over smallest trial, per scenario and metric"
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "limit": {
                "type": "number",
                "minimum": 1,
                "default": 1.5,
                "description": "Beyond this ratio a row is marked.",
            }
        },
    }

    def analyse(self, run: RunStore) -> Mapping[str, Any]:
        """The document of spread.json, which is written too."""
        values: dict[tuple[str, str, str], list[float]] = {}
        for record in run.trials():
            if record.status == "valid":
                for metric, value in trial_means(record).items():
                    values.setdefault((record.scenario_id, record.label, metric), []).append(value)
        rows = [
            {
                "scenario_id": scenario_id,
                "label": label,
                "metric": metric,
                "ratio": max(numbers) / min(numbers),
                "beyond": max(numbers) / min(numbers) > self.parameters["limit"],
            }
            for (scenario_id, label, metric), numbers in values.items()
            if min(numbers) > 0
        ]
        document = {"run_id": run.run_id, "limit": self.parameters["limit"], "rows": rows}
        replace_file(run.folder / "spread.json", json.dumps(document, indent=2) + "\n")
        return document
