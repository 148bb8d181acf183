"""Values of any magnitude as deviations that can be squared and summed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


def scaled(values: Sequence[float] | NDArray[float64]) -> NDArray[float64] | None:
    """Return (value - median) / largest deviation, in the order of the values. None without values,
    or if all are equal: then there is neither shape nor order to test.

    Tests that do not depend on location and scale use these deviations, so that neither values of
    1e100 nor a dispersion in the twelfth digit harms their arithmetic.
    """
    import numpy as np

    array = np.asarray(values, float)
    if array.size == 0:
        return None
    # This is the median. The checks of np.median take longer than the computation.
    ordered = np.sort(array, axis=None)
    middle = (ordered[(array.size - 1) // 2] + ordered[array.size // 2]) / 2
    deviations = array - middle
    largest = float(np.max(np.abs(deviations)))
    return None if largest == 0 else deviations / largest
