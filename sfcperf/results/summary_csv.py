"""summary.csv: the rows of summary.json as a table, a column per factor."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import fields
from io import StringIO

from sfcperf.results.columns import PREFIX, cell, factor_names
from sfcperf.results.records import Summary

_LISTS = ("reasons", "trials", "excluded", "outliers", "warnings")


def summary_csv(summaries: Sequence[Summary]) -> str:
    """CSV (RFC 4180 quoting, `\\n` ends) with a header; None is an empty cell, lists are joined
    by `; `."""
    factors = factor_names(summary.scenario for summary in summaries)
    names = [field.name for field in fields(Summary) if field.name != "scenario"]
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(PREFIX + factor for factor in factors), *names])
    for summary in summaries:
        levels = [cell(summary.scenario.get(factor)) for factor in factors]
        values = [
            "; ".join(value) if name in _LISTS else value
            for name, value in ((name, getattr(summary, name)) for name in names)
        ]
        writer.writerow([*levels, *values])
    return text.getvalue()
