"""Delivery: a publication that is noted in the spool until it is complete."""

from __future__ import annotations

import os
from collections.abc import Mapping

from sfcperf.elasticsearch.publication import RETRY_S, Progress, send
from sfcperf.elasticsearch.send import SendCounts
from sfcperf.elasticsearch.spool import Spool, SpooledRun
from sfcperf.elasticsearch.target import Target
from sfcperf.environment.state_root import VARIABLE
from sfcperf.errors import InputError, SfcperfError
from sfcperf.results.store import RunStore


def deliver(
    store: RunStore,
    target: Target,
    *,
    spool: Spool,
    progress: Progress,
    retry_s: float = RETRY_S,
    keep: type[SfcperfError] = SfcperfError,
) -> Mapping[str, SendCounts]:
    """Send a run; return data stream -> what became of its documents. Meanwhile the run is noted in
    the spool.

    Raises what `send` raises. After an error of the class `keep`, the run stays in the spool and is
    sent later. It also stays if it waited there before, or if this process is killed. After another
    error it does not.
    """
    waiting, is_new = spool.enter(store, target)
    try:
        sent = send(store, target, retry_s=retry_s, progress=progress)
    except SfcperfError as error:
        if is_new and not isinstance(error, keep):
            spool.done(waiting)
            raise
        spool.explain(waiting, error.message)
        error.message += f"; the run waits in {waiting.file}"
        error.hint = _hint(error, spool)
        raise
    spool.done(waiting)
    return sent


def deliver_waiting(
    waiting: SpooledRun, *, spool: Spool, progress: Progress, retry_s: float = RETRY_S
) -> Mapping[str, SendCounts]:
    """Send a run that waits in the spool, as `deliver` does. Raises InputError also when the run
    folder is gone or holds another run by now: the entry stays, so that the user decides."""
    try:
        store = RunStore.open(waiting.folder)
        found = store.run_id
    except InputError as error:
        raise _lost(waiting, "its folder is gone") from error
    if found != waiting.run_id:
        raise _lost(waiting, f"its folder holds the run {found} now")
    return deliver(store, waiting.target, spool=spool, progress=progress, retry_s=retry_s)


def _lost(waiting: SpooledRun, what: str) -> InputError:
    """Return the error for a run that cannot be sent from its folder. `what` says what is wrong
    with the folder."""
    return InputError(
        f"the run {waiting.run_id} waits to be sent, and {what}",
        where=str(waiting.folder),
        hint=f"put the folder back, or remove {waiting.file} to give it up",
    )


def _hint(error: SfcperfError, spool: Spool) -> str:
    """Return the hint of an error, and how to send the run later."""
    later = f"`sfcperf index --pending` sends what waits in {spool.folder}"
    if not os.environ.get(VARIABLE):
        later += f" ({VARIABLE} names another folder)"
    return f"{error.hint}; {later}" if error.hint else later
