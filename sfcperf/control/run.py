"""Start a run, or resume one from its folder."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfcperf.control.admission import check
from sfcperf.control.context import Manifest
from sfcperf.control.events import Listener
from sfcperf.control.interrupts import Interrupts
from sfcperf.control.phases import Phases
from sfcperf.control.session import Outcome, Session
from sfcperf.control.state import RunInfo, RunState, StateDir
from sfcperf.control.undo import undo_dead
from sfcperf.errors import InputError
from sfcperf.results.hostfacts import host_facts
from sfcperf.results.manifest import new_manifest, resumed
from sfcperf.results.store import RunStore
from sfcperf.results.versions import versions
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Workflow
from sfcperf.workflow.plan_document import plan_document


def start(
    workflow: Workflow, results: Path, *, command: Sequence[str], listener: Listener
) -> Outcome:
    """Run a workflow into a new folder of `results`.

    Raises InputError or EnvironmentLacks before anything is made, InterruptedRun after a signal.
    """
    phases = Phases()
    check(workflow)
    with Interrupts() as interrupts:
        state, run_id, tag = StateDir().create(workflow.name)
        try:
            store = RunStore.create(results / run_id)
            _write_info(state, workflow, store, tag)
            store.write_workflow(workflow.document, workflow.folder)
            store.write_plan(plan_document(workflow))
            document = new_manifest(
                workflow,
                run_id=run_id,
                command=command,
                host=host_facts(),
                versions=versions(),
            )
            manifest = Manifest(store, document)
            manifest.update({"state": "checking"})
        except BaseException:
            state.remove()
            raise
        return _session(
            workflow, store, state, tag, manifest, listener, interrupts, phases, earlier_s={}
        )


def resume(folder: Path, *, command: Sequence[str], listener: Listener) -> Outcome:
    """Go on with an interrupted or killed run, as its own workflow.json says.

    What the dead run left is undone first. Raises InputError when the run is complete, when it is
    alive, or when its folder is damaged.
    """
    phases = Phases()
    store = RunStore.open(folder)
    document = store.manifest()
    run_id = _resumable(document, store)
    store.trials()
    with Interrupts() as interrupts:
        states = StateDir()
        dead = states.claim(run_id)
        if dead is not None:
            try:
                undo_dead(dead, dry_run=False)
            finally:
                dead.release()
        kept, base = store.workflow()
        workflow = load_document(kept, base)
        check(workflow)
        state, tag = states.recreate(run_id)
        try:
            _write_info(state, workflow, store, tag)
            manifest = Manifest(store, resumed(document, host=host_facts()))
            manifest.update({"state": "checking", "command": list(command)})
        except BaseException:
            state.remove()
            raise
        earlier_s: Mapping[str, float] = document.get("phases", {})
        return _session(
            workflow, store, state, tag, manifest, listener, interrupts, phases, earlier_s
        )


def _resumable(document: Mapping[str, Any], store: RunStore) -> str:
    """The id of a run that is not done; the folder may have been moved or renamed.

    A run that was killed while it published is complete but not done.
    """
    if (document.get("status"), document.get("state")) == ("complete", "done"):
        raise InputError(
            "this run is complete; there is nothing to resume",
            where=str(store.folder),
            hint=f"`sfcperf report {store.folder}` makes its report anew",
        )
    return str(document.get("run_id", store.run_id))


def _write_info(state: RunState, workflow: Workflow, store: RunStore, tag: str) -> None:
    state.write_info(
        RunInfo(
            run_id=state.folder.name,
            tag=tag,
            driver=workflow.driver,
            config=workflow.config,
            results=str(store.folder.resolve()),
            pid=os.getpid(),
        )
    )


def _session(
    workflow: Workflow,
    store: RunStore,
    state: RunState,
    tag: str,
    manifest: Manifest,
    listener: Listener,
    interrupts: Interrupts,
    phases: Phases,
    earlier_s: Mapping[str, float],
) -> Outcome:
    session = Session(
        workflow=workflow,
        store=store,
        state=state,
        journal=state.journal(),
        tag=tag,
        manifest=manifest,
        listener=listener,
        interrupts=interrupts,
        phases=phases,
        earlier_s=earlier_s,
    )
    return session.run()
