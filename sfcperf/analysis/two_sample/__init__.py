"""Two-sample statistics: tests of a shift, its interval, effect size, sample size and scale.

Everything here takes the numbers of both sides and knows nothing of runs and trials. A new method
is a class that derives from `ShiftTest`.
"""

from sfcperf.analysis.two_sample.combined import CombinedTest, RobustRanks
from sfcperf.analysis.two_sample.effect_size import cliffs_delta, hedges_g, rank_biserial
from sfcperf.analysis.two_sample.few_runs import CochranCox, OneAgainstRuns, RunLevelT
from sfcperf.analysis.two_sample.fixed_side import trials_beside
from sfcperf.analysis.two_sample.means import MeanRatio, PairedMeanRatio
from sfcperf.analysis.two_sample.rank_power import least_trials
from sfcperf.analysis.two_sample.ranks import RankSum, SignedRank
from sfcperf.analysis.two_sample.sample_size import ObservedTrials, Purpose, SampleSize, needed
from sfcperf.analysis.two_sample.scale import Scale, scale_of
from sfcperf.analysis.two_sample.shift import Estimate, ShiftTest, stdev, variance
from sfcperf.analysis.two_sample.skewed import SkewedT
from sfcperf.analysis.two_sample.stretched import InflatedTest
from sfcperf.analysis.two_sample.student import PairedT, Student, WelchT

__all__ = [
    "CochranCox",
    "CombinedTest",
    "Estimate",
    "InflatedTest",
    "MeanRatio",
    "ObservedTrials",
    "OneAgainstRuns",
    "PairedMeanRatio",
    "PairedT",
    "Purpose",
    "RankSum",
    "RobustRanks",
    "RunLevelT",
    "SampleSize",
    "Scale",
    "ShiftTest",
    "SignedRank",
    "SkewedT",
    "Student",
    "WelchT",
    "cliffs_delta",
    "hedges_g",
    "least_trials",
    "needed",
    "rank_biserial",
    "scale_of",
    "stdev",
    "trials_beside",
    "variance",
]
