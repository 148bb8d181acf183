"""Analyse and publish a run folder; repeatable at any time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from sfcperf import plugins
from sfcperf.control.faults import describe, keep_traceback
from sfcperf.errors import EnvironmentLacks
from sfcperf.results.store import RunStore
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.model import PluginSpec

ALWAYS = "summary"
"""Name of the analysis that every run gets, before all others."""
WHERE_SEEN = "attribution"
"""Name of the analysis that every run with telemetry gets."""
CLAIMS = "claims"
"""Name of the analysis that every run with claims gets."""
ERROR_LOG = "errors.log"
"""File in the run folder with tracebacks of unexpected errors."""


def analyse(store: RunStore) -> list[str]:
    """Merge telemetry and flows, summarise, and run the analyses that the workflow asks for. Return
    what failed, a line each; empty if nothing did. No sample is lost by a failure, and an analysis
    that fails does not stop the others."""
    problems: list[str] = []
    with _noting(problems, store, "merging telemetry"):
        store.merge_telemetry()
    with _noting(problems, store, "merging flows"):
        store.merge_flows()
    with _noting(problems, store, f"analysis {ALWAYS}"):
        plugins.load("analysis", ALWAYS)({}).analyse(store)
    if store.telemetry_path.is_file():
        with _noting(problems, store, f"analysis {WHERE_SEEN}"):
            plugins.load("analysis", WHERE_SEEN)({}).analyse(store)
    document: Mapping[str, Any] = {}
    with _noting(problems, store, "reading which analyses are asked for"):
        document = store.workflow()[0]
    if document.get("claims"):
        with _noting(problems, store, f"analysis {CLAIMS}"):
            plugins.load("analysis", CLAIMS)({}).analyse(store)
    for entry in document.get("analyses", []):
        name = entry["analysis"]
        if name not in (ALWAYS, WHERE_SEEN, CLAIMS):
            with _noting(problems, store, f"analysis {name}"):
                plugin = plugins.load("analysis", name)
                options = {key: value for key, value in entry.items() if key != "analysis"}
                plugin(with_defaults(plugin.parameters, options)).analyse(store)
    return problems


def publish(store: RunStore, targets: Iterable[PluginSpec]) -> list[str]:
    """Publish the run folder to each target. Return what failed, a line each; empty if nothing did.
    A publisher that fails does not stop the others."""
    problems: list[str] = []
    for target in targets:
        with _noting(problems, store, f"publishing to {target.name}"):
            plugins.load("publisher", target.name)(target.parameters).publish(store)
    return problems


def publish_report(store: RunStore) -> list[str]:
    """Make the report again, as the run's workflow asks for it, or with defaults if it asks for
    none; return what failed."""
    problems: list[str] = []
    with _noting(problems, store, "publishing to report"):
        document, _ = store.workflow()
        entries = [entry for entry in document.get("publish", []) if entry.get("to") == "report"]
        options = {key: value for key, value in (entries or [{}])[0].items() if key != "to"}
        schema = plugins.load("publisher", "report").parameters
        problems += publish(store, [PluginSpec("report", with_defaults(schema, options))])
    return problems


@contextmanager
def _noting(problems: list[str], store: RunStore, what: str) -> Iterator[None]:
    """Turn a failure into a line of `problems`; its traceback goes to the run folder."""
    try:
        yield
    except Exception as error:
        problems.append(f"{what}: {describe(error)}")
        # Nothing is written if another folder is in the place of this one.
        with suppress(OSError, EnvironmentLacks):
            store.check_not_moved()
            keep_traceback(error, store.folder / ERROR_LOG)
