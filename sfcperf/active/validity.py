"""The one rule for packets or requests that do not come through, for every probe.

1. Nothing came through: there is no number, and the attempt has failed.
2. The endpoints lost it themselves, or the load was not the one that was asked for: the trial is
   untrusted. In a closed loop, where each request waits for an earlier one, every request that
   fails changes the load: it ends early and makes room for the next, or idles until its timeout.
3. The load was as asked for, and the chain lost some of it: the trial is valid. The loss is a true
   result; above `loss_warning`, readers are warned that the other numbers describe only the rest.

Probes count (`ProbeResult.loss`, and `ProbeResult.untrusted` for losses in the endpoints); the
control module judges every probe by the functions below.
"""

from __future__ import annotations

from typing import Any

from sfcperf.errors import MeasurementError
from sfcperf.plugins import number
from sfcperf.results.values import Loss

LOSS_WARNING = 0.01
"""Default of the parameter `loss_warning`: share of losses above which readers are warned."""


def loss_parameter(what: str) -> dict[str, Any]:
    """Return the schema of the parameter `loss_warning` of a probe. `what` names the losses in its
    description: `echo requests without a reply`."""
    return number(
        f"Share of {what} above which the result is marked: tables, verdict and comparison say "
        "that the other numbers describe only the rest. The trial stays valid.",
        (0, 1),
        default=LOSS_WARNING,
    )


def check_came_through(loss: Loss | None) -> None:
    """Check that a trial has a result. Raises MeasurementError if nothing came through. A `loss` of
    None was not counted, and passes."""
    if loss is not None and loss.total and loss.lost >= loss.total:
        raise MeasurementError(f"nothing came through: {loss.lost} of {loss.total} {loss.text}")


def loss_doubts(loss: Loss | None) -> tuple[str, ...]:
    """Say why a trial with this loss is untrusted. Nothing is said if the loss is the chain's own
    result, or was not counted (None)."""
    if loss is None or not loss.lost or not loss.changes_load:
        return ()
    return (
        f"{loss.lost} of {loss.total} {loss.text}: in a closed loop they change the load, so the "
        "numbers are not what the chain carries",
    )
