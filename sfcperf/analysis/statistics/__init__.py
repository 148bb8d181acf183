"""Statistics of one series of numbers: intervals, shape, order, trend, lines, correlation.

Everything here takes plain numbers and knows nothing of runs and trials.
"""

from sfcperf.analysis.statistics.correlation import (
    Coefficient,
    CoefficientName,
    correlation,
)
from sfcperf.analysis.statistics.dependence import Dependence, dependence
from sfcperf.analysis.statistics.description import Description, describe
from sfcperf.analysis.statistics.estimates import (
    USUAL_RAREST_MODE,
    Centre,
    Estimate,
    Rules,
    estimate_of,
)
from sfcperf.analysis.statistics.intervals import (
    LOOKS,
    MEAN_METHOD,
    MEDIAN_METHOD,
    Interval,
    confidence_per_look,
    fewest_for_median,
    mean_interval,
    median_interval,
    relative_half_width,
    t_quantile,
)
from sfcperf.analysis.statistics.multiple_testing import at_most, holm
from sfcperf.analysis.statistics.outliers import find_outliers
from sfcperf.analysis.statistics.regression import Line, fit_line
from sfcperf.analysis.statistics.resolution import least_to_see, rarest_mode, tick_of
from sfcperf.analysis.statistics.serial_dependence import VarianceInflation, stretch
from sfcperf.analysis.statistics.shares import EventCounts, share_interval
from sfcperf.analysis.statistics.steady_state import Steadiness, steadiness

__all__ = [
    "LOOKS",
    "MEAN_METHOD",
    "MEDIAN_METHOD",
    "USUAL_RAREST_MODE",
    "Centre",
    "Coefficient",
    "CoefficientName",
    "Dependence",
    "Description",
    "Estimate",
    "EventCounts",
    "Interval",
    "Line",
    "Rules",
    "Steadiness",
    "VarianceInflation",
    "at_most",
    "confidence_per_look",
    "correlation",
    "dependence",
    "describe",
    "estimate_of",
    "fewest_for_median",
    "find_outliers",
    "fit_line",
    "holm",
    "least_to_see",
    "mean_interval",
    "median_interval",
    "rarest_mode",
    "relative_half_width",
    "share_interval",
    "steadiness",
    "stretch",
    "t_quantile",
    "tick_of",
]
