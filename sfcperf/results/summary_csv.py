"""summary.csv: the rows of summary.json as a table, a column per factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from sfcperf.results.columns import PREFIX, cell, csv_text, factor_names
from sfcperf.results.records import Summary

_LISTS = ("reasons", "trials", "excluded", "outliers", "warnings")


def summary_csv(summaries: Sequence[Summary]) -> str:
    """CSV with a header; None is an empty cell, lists are joined by `; `."""
    factors = factor_names(summary.scenario for summary in summaries)
    names = [field.name for field in fields(Summary) if field.name != "scenario"]
    rows = [[*(PREFIX + factor for factor in factors), *names]]
    for summary in summaries:
        levels = [cell(summary.scenario.get(factor)) for factor in factors]
        values = [
            "; ".join(value) if name in _LISTS else value
            for name, value in ((name, getattr(summary, name)) for name in names)
        ]
        rows.append([*levels, *values])
    return csv_text(rows)
