"""Metrics of a model: how well it judges records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfcperf.services.classifier.features import EARLY, FEATURES
from sfcperf.traffic.agreement import matthews
from sfcperf.traffic.labels import BENIGN


def ratio(part: int, whole: int) -> float | None:
    """`part` of `whole`; None if the whole is 0."""
    return part / whole if whole else None


def evaluation(
    labels: NDArray[np.str_], predicted: Sequence[str], features: NDArray[np.int64]
) -> dict[str, Any]:
    """Compare predictions with the known labels of records. Returns `records`, `mcc`, `recall` and
    `fpr` of attacks against benign records, and `fpr_early` and `fpr_window` for the two kinds of
    records. `kinds` has for each kind of attack `records` and `recall` (judged an attack, of
    whichever kind). A ratio is None where there are no such records."""
    attack = labels != BENIGN
    alarm = np.array(predicted, dtype=np.str_) != BENIGN if len(labels) else attack
    early = features[:, FEATURES.index(EARLY)] == 1

    def fpr(of: NDArray[np.bool_]) -> float | None:
        """Share of these records, all benign, that were judged an attack."""
        return ratio(int((alarm & of).sum()), int(of.sum()))

    # True positives and false negatives, then false positives and true negatives.
    found, missed = int((alarm & attack).sum()), int((~alarm & attack).sum())
    false, right = int((alarm & ~attack).sum()), int((~alarm & ~attack).sum())

    def kind(label: str) -> dict[str, Any]:
        of = labels == label
        return {"records": int(of.sum()), "recall": float(alarm[of].mean())}

    return {
        "records": len(labels),
        "mcc": matthews(found, missed, false, right),
        "recall": ratio(found, found + missed),
        "fpr": ratio(false, false + right),
        "fpr_early": fpr(~attack & early),
        "fpr_window": fpr(~attack & ~early),
        "kinds": {str(label): kind(label) for label in np.unique(labels[attack])},
    }
