"""What figures, reports, comparisons and dashboards share: units, colours, words, parts of pages.

The lowest of the packages that show results: it knows records and workflows, and none of the
others. `figures` builds on it, `report` on `figures`; `comparison` and `kibana` build on it alone.
None of them imports sfcperf.control, sfcperf.active or sfcperf.drivers.
"""

from sfcperf.presentation import palette, units
from sfcperf.presentation.levels import (
    Levels,
    axis_levels,
    by_metric,
    is_number,
    level_key,
    level_text,
    scenario_key,
    scenario_name,
    scenario_text,
    varying,
)
from sfcperf.presentation.pages import Chart, relative_link, render, trial_anchor
from sfcperf.presentation.terminal import scenario_table
from sfcperf.presentation.wording import (
    count_text,
    date_and_time,
    first_names,
    seconds_between,
    shortened,
)

__all__ = [
    "Chart",
    "Levels",
    "axis_levels",
    "by_metric",
    "count_text",
    "date_and_time",
    "first_names",
    "is_number",
    "level_key",
    "level_text",
    "palette",
    "relative_link",
    "render",
    "scenario_key",
    "scenario_name",
    "scenario_table",
    "scenario_text",
    "seconds_between",
    "shortened",
    "trial_anchor",
    "units",
    "varying",
]
