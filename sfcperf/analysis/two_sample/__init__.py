"""Two-sample statistics: tests of a shift, its interval, effect size, sample size and scale.

Everything here takes the numbers of both sides and knows nothing of runs and trials. A new method
is a class that derives from `ShiftTest`.
"""

from sfcperf.analysis.two_sample.effect_size import cliffs_delta, hedges_g, rank_biserial
from sfcperf.analysis.two_sample.rank_power import least_trials
from sfcperf.analysis.two_sample.ranks import RankSum, SignedRank
from sfcperf.analysis.two_sample.sample_size import Needed, Observed, Purpose, needed
from sfcperf.analysis.two_sample.scale import Scale, scale_of
from sfcperf.analysis.two_sample.shift import Estimate, ShiftTest
from sfcperf.analysis.two_sample.student import PairedT, WelchT

__all__ = [
    "Estimate",
    "Needed",
    "Observed",
    "PairedT",
    "Purpose",
    "RankSum",
    "Scale",
    "ShiftTest",
    "SignedRank",
    "WelchT",
    "cliffs_delta",
    "hedges_g",
    "least_trials",
    "needed",
    "rank_biserial",
    "scale_of",
]
