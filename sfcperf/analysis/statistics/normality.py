"""Whether trials look normal: information for the reader, on which nothing depends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import TYPE_CHECKING

from sfcperf.analysis.statistics.scaling import scaled

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

ALPHA = 0.05
"""Probability of rejecting normality of normal trials."""
SHAPIRO_WILK = "Shapiro-Wilk"
DAGOSTINO_PEARSON = "D'Agostino-Pearson"
_MOST_FOR_SHAPIRO = 5000
"""Royston's approximation of the p-value was not checked beyond this (scipy says so too)."""


@dataclass(frozen=True)
class Normality:
    """Outcome of a test for normality."""

    p: float | None
    """None for fewer than three values, or equal ones."""
    method: str
    """Name of the test; empty without one."""

    @property
    def rejected(self) -> bool:
        """Whether the values do not look normal."""
        return self.p is not None and self.p < ALPHA


def normality(values: Sequence[float]) -> Normality:
    """Test finite values for normality.

    Shapiro-Wilk (Royston 1995, algorithm AS R94) has the most power of the usual tests at small n
    (Razali & Wah 2011); beyond 5000 values D'Agostino & Pearson (1973) takes its place.
    """
    deviations = scaled(values)
    if deviations is None or len(values) < 3:
        return Normality(None, "")
    if len(values) > _MOST_FOR_SHAPIRO:
        from scipy.stats import normaltest

        return Normality(float(normaltest(deviations).pvalue), DAGOSTINO_PEARSON)
    return Normality(_shapiro_p(deviations), SHAPIRO_WILK)


def _shapiro_p(values: NDArray[float64]) -> float:
    """p of Shapiro-Wilk: what scipy.stats.shapiro computes."""
    import numpy as np

    routine = _compiled_routine()
    if routine is None:
        from scipy.stats import shapiro

        return float(shapiro(values).pvalue)
    # As scipy does it: less a value from their midst, since differences are what counts.
    ordered = np.sort(values) - values[len(values) // 2]
    return float(routine(ordered, np.zeros(len(values) // 2), 0)[1])


@cache
def _compiled_routine() -> Callable[..., tuple[float, float, int]] | None:
    """scipy's AS R94 without the rest of scipy.stats, whose import takes a second: more than all
    else that a summary needs. It is private: None in a scipy that keeps it elsewhere."""
    import scipy

    name = "scipy.stats._ansari_swilk_statistics"
    found = PathFinder.find_spec(name, [f"{folder}/stats" for folder in scipy.__path__])
    if found is None or found.loader is None:
        return None
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return getattr(module, "swilk", None)
