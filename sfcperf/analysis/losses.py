"""What the trials of a probe lost, and what their numbers then describe."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sfcperf.results.records import TrialRecord
from sfcperf.results.values import Loss


def loss_of(records: Iterable[TrialRecord]) -> Loss | None:
    """Add up the losses of the trials of one probe. None without trials, or if one of them did not
    count its loss."""
    losses = [record.loss for record in records]
    known = [loss for loss in losses if loss is not None]
    if not known or len(known) < len(losses):
        return None
    lost, total = sum(loss.lost for loss in known), sum(loss.total for loss in known)
    # The words of the first loss serve for all: they are the probe's.
    return replace(known[0], lost=lost, total=total)


def loss_text(loss: Loss) -> str:
    """Describe a loss, for instance `8 % of the echo requests got no reply (9 of 120): the
    round-trip times are those of the others`."""
    counts = f"{loss.lost} of {loss.total}"
    return f"{100 * loss.ratio:.2g} % of the {loss.text} ({counts}): {loss.effect}"
