"""Do the documents of a run agree: what is said twice must be said alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from typing import Any

import sfcperf
from sfcperf.errors import InputError
from sfcperf.package.checks import KEPT, Check, judged
from sfcperf.package.kit.effort import effort
from sfcperf.package.kit.machine import machine
from sfcperf.package.layout import MANIFEST
from sfcperf.package.opened import Package
from sfcperf.package.pack_document import FACTS, doubts_of, stated_claims
from sfcperf.package.read_json import read_json
from sfcperf.package.run_files import foreign_files, why_incomplete
from sfcperf.package.verify.expansion import scenario_differences
from sfcperf.package.verify.named_files import file_differences, lacking
from sfcperf.package.verify.packed_software import software_findings
from sfcperf.package.verify.same import same, shown
from sfcperf.report.noise import noise_findings
from sfcperf.results.campaigns import Repeat
from sfcperf.results.manifest import counts
from sfcperf.results.store import RunFile, RunStore
from sfcperf.workflow.claims import mark_removed
from sfcperf.workflow.overrides import DEFAULT_DRIVER, customise
from sfcperf.workflow.repeats import run_seed
from sfcperf.workflow.schema import shipped_schema

NAME = "agreement"


@dataclass(frozen=True)
class _Pair:
    """One fact as two places of the documents state it."""

    place: str
    value: Any
    other_place: str
    other: Any

    def difference(self) -> str | None:
        """Say how the two places differ; None if both say the same."""
        if same(self.value, self.other):
            return None
        return f"{self.place} says {shown(self.value)}, and {self.other_place} {shown(self.other)}"


def check_agreement(package: Package) -> Check:
    """Check that package.json and, of each run, run.json, plan.json, both workflows, trials.jsonl
    and summary.json state the same facts, and that files of the workflow are those of run.json. All
    documents must fit their schemas."""
    findings: list[str] = []
    for index, store in enumerate(package.runs):
        where = store.folder.name
        found = list(islice(_differences(package.document, index, store), KEPT))
        # What follows from documents only has a meaning if these agree.
        found = found or list(_unlike_run(package.document, index, store))
        findings += [f"{where}: {text}" for text in found]
    findings += islice(software_findings(package), KEPT)
    return judged(NAME, findings, "documents that state the same facts state them alike")


def _differences(document: Mapping[str, Any], index: int, store: RunStore) -> Iterator[str]:
    """Yield, in words, what the documents of one run state differently. `document`: package.json;
    `index`: of the run in its `runs`."""
    manifest, plan = store.manifest(), store.plan()
    applied, _ = store.workflow()
    entry = document["runs"][index]
    pairs = [
        *_of_package(entry, index, manifest),
        _Pair(
            f"{MANIFEST}/runs/{index}/claims",
            entry.get("claims", []),
            RunFile.CLAIMS,
            stated_claims(store),
        ),
        *_of_plan(manifest, plan),
        *_of_workflow(manifest, applied),
        _Pair(
            RunFile.MANIFEST + "/trials", manifest["trials"], RunFile.TRIALS, counts(store.trials())
        ),
    ]
    if (store.folder / RunFile.SUMMARY).is_file():
        summary = read_json(store.folder / RunFile.SUMMARY, RunFile.SUMMARY)
        ids = summary["run_id"], manifest["run_id"]
        pairs.append(_Pair(RunFile.SUMMARY + "/run_id", ids[0], RunFile.MANIFEST, ids[1]))
    yield from (text for pair in pairs if (text := pair.difference()))
    yield from _trial_differences(store, manifest, plan)
    yield from _override_differences(
        manifest, read_json(store.folder / RunFile.WORKFLOW, RunFile.WORKFLOW), applied
    )
    yield from scenario_differences(applied, plan)
    yield from file_differences(store, manifest)
    yield from _unsaid(document, index, store, manifest)


def _of_package(
    entry: Mapping[str, Any], index: int, manifest: Mapping[str, Any]
) -> Iterator[_Pair]:
    """Yield what both package.json (`entry`, number `index` of its `runs`) and run.json state."""
    for fact in FACTS:
        place = f"{MANIFEST}/runs/{index}/{fact}"
        yield _Pair(place, entry[fact], f"{RunFile.MANIFEST}/{fact}", manifest[fact])


def _unlike_run(document: Mapping[str, Any], index: int, store: RunStore) -> Iterator[str]:
    """Yield what package.json says of machine and time of a run, and the run otherwise. Another
    release may count time differently, and older ones say neither."""
    if document["made_by"]["sfcperf"] != sfcperf.__version__:
        return
    entry = document["runs"][index]
    expected = {"machine": machine(store.manifest()), "effort": effort(store)}
    for key, value in expected.items():
        place = f"{MANIFEST}/runs/{index}/{key}"
        pair = _Pair(place, entry.get(key), "the run", value)
        if text := pair.difference():
            yield text


def _of_plan(manifest: Mapping[str, Any], plan: Mapping[str, Any]) -> Iterator[_Pair]:
    """Yield what plan.json states twice, or states as well as run.json."""
    design, rounds = manifest["design"], plan["rounds"]
    stop = design["stop_when"] or {}
    # Scenario -> labels of its probes, by run.json, which may state one twice.
    labels: dict[str, list[str]] = {entry["id"]: [] for entry in manifest["scenarios"]}
    for probe in manifest["probes"]:
        for scenario_id in probe["scenarios"]:
            labels.setdefault(scenario_id, []).append(probe["label"])
    # Whether they are for warm-up -> numbers of the rounds.
    numbers = {kind: [r["round"] for r in rounds if r["warmup"] == kind] for kind in (True, False)}
    visits = [visit for r in rounds if not r["warmup"] for visit in r["visits"]]
    scenarios = plan["scenarios"]
    resolved = plan["resolved"]
    facts = {
        "name": (plan["name"], manifest["name"]),
        "driver": (plan["driver"], manifest["driver"]),
        "seed": (plan["seed"], manifest["seed"]),
        "order": (plan["order"], design["order"]),
        "max_rounds": (plan["max_rounds"], stop.get("max_rounds", design["rounds"])),
        "trials": (plan["trials"], sum(len(visit["trials"]) for visit in visits)),
        "rounds": (numbers[False], list(range(1, design["rounds"] + 1))),
        "rounds (warm-up)": (numbers[True], list(range(1, design["warmup_rounds"] + 1))),
        "scenarios": (
            [[s["id"], s["scenario"]] for s in scenarios],
            [[s["id"], s["levels"]] for s in manifest["scenarios"]],
        ),
        "scenarios (probes)": (
            {s["id"]: sorted(s["probes"]) for s in scenarios},
            {name: sorted(found) for name, found in labels.items()},
        ),
    }
    for name, (planned, reported) in facts.items():
        yield _Pair(f"{RunFile.PLAN}/{name}", planned, RunFile.MANIFEST, reported)
    yield _Pair(
        f"{RunFile.PLAN}/resolved",
        [[name, *_outline(found)] for name, found in resolved.items()],
        f"{RunFile.PLAN}/scenarios",
        # A list: it would show a scenario that is there twice.
        [[s[k] for k in ("id", "scenario", "topology", "functions", "probes")] for s in scenarios],
    )
    yield _Pair(f"{RunFile.MANIFEST}/design/seed", design["seed"], "its /seed", manifest["seed"])


def _outline(resolved: Mapping[str, Any]) -> list[Any]:
    """Return of a resolved scenario what a plan also states in its list `scenarios`."""
    return [
        resolved["levels"],
        resolved["topology"]["name"],
        [function["name"] for function in resolved["chain"]["functions"]],
        [probe["label"] for probe in resolved["probes"]],
    ]


def _of_workflow(manifest: Mapping[str, Any], applied: Mapping[str, Any]) -> Iterator[_Pair]:
    """Yield what both workflow.applied.json and run.json state. What the workflow leaves to a
    default is not compared."""
    stated = {"name": applied["name"], "description": applied.get("description", "")}
    infrastructure = applied.get("infrastructure", {})
    if "variants" not in applied:
        # Without variants, there is one driver; each variant may have its own.
        stated["driver"] = infrastructure.get("driver", DEFAULT_DRIVER)
    for name, value in stated.items():
        place = f"{RunFile.WORKFLOW_APPLIED}/{name}"
        yield _Pair(place, value, f"{RunFile.MANIFEST}/{name}", manifest[name])
    design = applied.get("design", {})
    for name in ("rounds", "warmup_rounds", "order", "seed", "confidence", "max_retries"):
        if name not in design:
            # Not compared: the release that measured may have had another default.
            continue
        value = design[name]
        place = f"{RunFile.WORKFLOW_APPLIED}/design/{name}"
        yield _Pair(place, value, f"{RunFile.MANIFEST}/design/{name}", manifest["design"][name])


def _trial_differences(
    store: RunStore, manifest: Mapping[str, Any], plan: Mapping[str, Any]
) -> Iterator[str]:
    """Check the trials against the plan: no trial is planned twice, each belongs to its visit, and
    a complete run has all of them. (Reading trials already checks that they are of the run.)"""
    visits = [
        (visit, r["round"]) for r in plan["rounds"] if not r["warmup"] for visit in r["visits"]
    ]
    planned = [trial for visit, _ in visits for trial in visit["trials"]]
    if len(set(planned)) < len(planned):
        yield f"{RunFile.PLAN} names a trial twice"
    for visit, number in visits:
        start = f"r{number:03d}-{visit['scenario_id']}-"
        for trial in visit["trials"]:  # ids of trials begin with round and scenario
            if not trial.startswith(start):
                yield f"{RunFile.PLAN} has the trial {trial} in the visit {start[:-1]}"
    if manifest["status"] == "complete":
        done = {record.trial_id for record in store.trials()}
        for trial in planned:
            if trial not in done:
                yield f"{RunFile.PLAN} has the trial {trial}, and {RunFile.TRIALS} does not"


def _override_differences(
    manifest: Mapping[str, Any], document: Mapping[str, Any], applied: Mapping[str, Any]
) -> Iterator[str]:
    """Check that the workflow as run follows from the workflow as given, the options of the command
    line, and what a campaign gives each of its runs. Yields the differences."""
    options = _options(manifest["command"])
    driver = options["--driver"][-1] if options["--driver"] else None
    try:
        # A copy: overrides change the values inside.
        applied_now = customise(deepcopy(document), options["--set"], driver)
        mark_removed(document, applied_now)
        expected = _of_campaign(applied_now, Repeat.of_manifest(manifest))
    except InputError as error:
        yield f"{RunFile.WORKFLOW} contradicts the command in {RunFile.MANIFEST}: {error.message}"
        return
    for key in sorted({*expected, *applied}):
        if key == "infrastructure" and options["--profile"]:
            # The profile is a file on the author's machine, which is not in the package.
            continue
        value, applied_value = expected.get(key), applied.get(key)
        if not same(value, applied_value):
            yield (
                f"{RunFile.WORKFLOW}/{key} is, with the options in {RunFile.MANIFEST}/command, "
                f"{shown(value)}, and {RunFile.WORKFLOW_APPLIED}/{key} {shown(applied_value)}"
            )


def _of_campaign(document: Mapping[str, Any], repeat: Repeat | None) -> dict[str, Any]:
    """Return the workflow as this run of a campaign executes it: with the number of runs, and from
    the second run on with a seed of its own. `repeat` is None for a run outside a campaign."""
    if repeat is None:
        return dict(document)
    design = {**document.get("design", {}), "runs": repeat.of}
    if repeat.index > 1:
        usual = shipped_schema("workflow")["$defs"]["design"]["properties"]["seed"]["default"]
        design["seed"] = run_seed(design.get("seed", usual), repeat.index)
    return {**document, "design": design}


def _options(command: Sequence[str]) -> dict[str, list[str]]:
    """Return option -> its values in a command line, for the options that change the workflow."""
    found: dict[str, list[str]] = {"--set": [], "--driver": [], "--profile": []}
    for index, word in enumerate(command):
        name, separator, value = word.partition("=")
        if name in found and separator:
            found[name].append(value)
        elif word in found and index + 1 < len(command):
            found[word].append(command[index + 1])
    return found


def _unsaid(
    document: Mapping[str, Any], index: int, store: RunStore, manifest: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the doubts about a run that the package must state, and does not. Another release may
    word them differently: for its packages, any statement will do."""
    entry = document["runs"][index]
    reasons = why_incomplete(store, manifest)
    warnings = doubts_of(
        manifest,
        incomplete=entry["incomplete"],
        foreign=foreign_files(store.folder),
        left_out=[each["file"] for each in entry["left_out"]],
        lacking=lacking(store, manifest),
        noise=noise_findings(manifest, store.trials()),
        packed_with=document["made_by"]["sfcperf"],
    )
    same_release = document["made_by"]["sfcperf"] == sfcperf.__version__
    of_run = [text for text in document["warnings"] if text.startswith(manifest["run_id"])]
    for place, expected, stated in (
        (f"runs/{index}/incomplete", reasons, entry["incomplete"]),
        ("warnings", warnings, of_run),
    ):
        unsaid = [text for text in expected if text not in stated]
        if unsaid and (same_release or not stated):
            yield f"{MANIFEST}/{place} does not say: {unsaid[0]}"
