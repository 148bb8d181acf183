"""Start a run, or resume one from its folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sfcperf.control import lock
from sfcperf.control.clean import undo_dead
from sfcperf.control.context import Manifest
from sfcperf.control.events import Listener, Timeline, traced
from sfcperf.control.interrupts import Interrupts
from sfcperf.control.progress_state import ProgressState
from sfcperf.control.resolved import check_unchanged, resolved
from sfcperf.control.session import Outcome, Session
from sfcperf.control.state import FurtherDriver, RunInfo, RunState, StateDir
from sfcperf.control.validation import check, warnings
from sfcperf.errors import InputError
from sfcperf.results.campaigns import Repeat
from sfcperf.results.manifest import new_manifest, resumed
from sfcperf.results.provenance import (
    check_descriptors,
    check_files,
    host_facts,
    keep_descriptors,
    keep_files,
    modules_of,
    programs_of,
    versions,
)
from sfcperf.results.store import RunStore
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Workflow
from sfcperf.workflow.plan import plan_document


def start(
    workflow: Workflow,
    results: Path,
    *,
    command: Sequence[str],
    listener: Listener,
    source: Mapping[str, Any] | None = None,
    repeat: Repeat | None = None,
) -> Outcome:
    """Run a workflow into a new folder of `results`.

    `source` is the document before preset, driver and overrides were applied; it is kept beside the
    one that runs. `repeat` is the run's place in its campaign. Raises InputError or
    EnvironmentLacks before anything is created, InterruptedRun after a signal.
    """
    timeline = Timeline()
    check(workflow)
    for text in warnings(workflow):
        listener.message(text)
    with traced(timeline, listener), Interrupts() as interrupts, ExitStack() as stack:
        states = StateDir()
        state, run_id, tag = states.create(workflow.name)
        try:
            tags = states.tags(tag, len(workflow.infrastructures))
            store = RunStore.create(results / run_id)
            stack.enter_context(lock.held(store.folder, run_id))
            listener.created(store.folder)
            # Before the drivers: they may create only what `clean` could remove.
            _write_info(state, workflow, store, tags)
            store.write_workflow(workflow.document, workflow.folder, source=source)
            vnfds = keep_descriptors(store.vnfds, workflow.vnfds)
            store.write_plan({**plan_document(workflow), "resolved": resolved(workflow)})
            document = new_manifest(
                workflow,
                run_id=run_id,
                tags=tags,
                command=command,
                host=host_facts(),
                versions=versions(),
                vnfds=vnfds,
                modules=modules_of(workflow),
                files=keep_files(store.files, workflow.files),
                programs=programs_of(workflow.functions),
                repeat=repeat,
            )
            manifest = Manifest(store, document)
            manifest.update({"state": "checking"})
        except BaseException:
            # No driver has started: there is nothing to undo. Later, the session removes the state.
            state.remove()
            raise
        return Session(workflow, store, state, tags, manifest, listener, interrupts, timeline).run()


def resume(
    folder: Path,
    *,
    command: Sequence[str],
    listener: Listener,
    loaded: Callable[[Workflow], None] = lambda _: None,
) -> Outcome:
    """Continue an interrupted or killed run, with the workflow in its folder. `loaded` is called
    with that workflow before anything of it is executed.

    What the dead run left is removed first. Raises InputError when the run is complete, when it is
    alive, when its folder is damaged, or when its workflow now has another meaning; InterruptedRun
    after a signal.
    """
    timeline = Timeline()
    store = RunStore.open(folder)
    store.stay()  # from here on, it must not be replaced by another folder
    run_id = store.manifest()["run_id"]
    store.check_writable()
    with (
        traced(timeline, listener),
        Interrupts() as interrupts,
        lock.held(store.folder, run_id),
    ):
        # Read it again: only now, with the lock held, nobody else writes it.
        document = store.manifest()
        store.trials()  # for its error: a damaged record is refused before anything is removed
        states = StateDir()
        if (dead := states.claim(run_id)) is not None:
            try:
                undo_dead(dead, dry_run=False)
            finally:
                dead.release()
        workflow = workflow_of(store)
        loaded(workflow)
        complete = ProgressState(workflow, store.trials()).is_complete()
        if complete and (document["status"], document["state"]) == ("complete", "done"):
            raise InputError(
                "this run is complete; there is nothing to resume",
                where=str(store.folder),
                hint=f"`sfcperf report {store.folder}` creates its report again",
            )
        check(workflow)
        listener.created(store.folder)
        store.remove_unfinished()
        state, tag = states.recreate(run_id)
        try:
            tags = states.tags(tag, len(workflow.infrastructures))
            _write_info(state, workflow, store, tags)
            again = resumed(
                document,
                tags=tags,
                command=command,
                host=host_facts(),
                versions=versions(),
                modules=modules_of(workflow),
                programs=programs_of(workflow.functions),
            )
            if document["status"] == "complete" and not complete:
                again["problems"].append(
                    "trials were missing from the record of a complete run; they are measured again"
                )
            manifest = Manifest(store, again)
            manifest.update({"state": "checking"})
        except BaseException:
            state.remove()
            raise
        session = Session(workflow, store, state, tags, manifest, listener, interrupts, timeline)
        session.earlier_s = document.get("phases", {})
        return session.run()


def workflow_of(store: RunStore) -> Workflow:
    """Load the workflow of a run from its folder. Raises InputError when files or plug-ins changed
    its meaning since the run began."""
    workflow = load_document(*store.workflow())
    check_unchanged(store.resolved(), workflow, str(store.folder))
    manifest = store.manifest()
    check_descriptors(manifest["vnfds"], workflow.vnfds, str(store.folder))
    check_files(manifest.get("files", ()), workflow.files, str(store.folder))
    return workflow


def _write_info(state: RunState, workflow: Workflow, store: RunStore, tags: Sequence[str]) -> None:
    """Write to the run's state what `clean` needs to remove what the run creates."""
    # The first infrastructure is the workflow's own.
    further = zip(tags[1:], workflow.infrastructures[1:], strict=True)
    state.write_info(
        RunInfo(
            run_id=state.folder.name,
            tag=tags[0],
            driver=workflow.driver,
            config=workflow.config,
            results=str(store.folder.resolve()),
            pid=os.getpid(),
            further=tuple(FurtherDriver(tag, each.driver, each.config) for tag, each in further),
        )
    )
