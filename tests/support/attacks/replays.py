"""Hostile packages for `sfcperf replay`: what it shows, and what it would execute."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfcperf import plugins
from sfcperf.active.ping import Ping
from sfcperf.analysis.summary import SummaryAnalysis
from sfcperf.package.pack import pack
from sfcperf.package.readme import readme_text
from sfcperf.package.replay.packaged import Provider
from sfcperf.package.replay.stand_ins import StandIn
from sfcperf.results.store import RunFile, RunStore
from support.attacks import Attack
from support.bench import forget_plugins
from support.records.packages import (
    OPTIONS,
    PLAIN,
    contents,
    edited,
    finish,
    finished_run,
    packed,
    resealed,
    with_program,
)
from support.records.runs import build_run

RUN = "runs/run-1"
WORKFLOWS = tuple(f"{RUN}/{name}" for name in (RunFile.WORKFLOW, RunFile.WORKFLOW_APPLIED))
VNFD = Path(__file__).resolve().parents[3] / "vnfs" / "forwarder" / "vnfd.yaml"
PROBE = """
from pathlib import Path
from acme.probing.names import NAME
from sfcperf.active.ping import Ping

Path("imported").write_text(NAME)

class Acme(Ping):
    name = NAME
    title = "a probe of somebody else"
"""
MODULE = {
    "acme/__init__.py": "",
    "acme/probing/__init__.py": PROBE,
    "acme/probing/names.py": "NAME = 'acme'\n",
    "acme-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n",
    "acme-1.0.dist-info/entry_points.txt": "[sfcperf.probes]\nacme = acme.probing:Acme\n",
}
"""A plug-in with sub-modules, which works."""
HOOK = "from pathlib import Path\nPath('hooked').write_text(__file__)\n"
"""For files that the interpreter would import by itself."""


def _plain_run(folder: Path) -> RunStore:
    return finished_run(folder, PLAIN)


def package(
    folder: Path,
    edit: Callable[[Any], None] = lambda _: None,
    files: Mapping[str, str | bytes] | None = None,
    module: Mapping[str, str] | None = None,
    run: Callable[[Path], RunStore] = _plain_run,
) -> Path:
    """A package with a list of hashes that fits, whose workflow, as given and as run, `edit` has
    changed. `files`: by their names in it. `module`: files of a module that package.json lists as
    acme 1.0."""
    with _installed(folder / "author" / "installed"):
        made = pack([run(folder / "author" / "run-1")], folder / "author.zip", OPTIONS).path
    before = contents(made)
    manifest = json.loads(before["package.json"])
    changed: dict[str, str | bytes] = {name: edited(before[name], edit) for name in WORKFLOWS}
    changed |= files or {}
    if module is not None:
        changed |= {f"modules/acme-1.0/{name}": text for name, text in module.items()}
        manifest["modules"] = [
            {
                "distribution": "acme",
                "version": "1.0",
                "folder": "modules/acme-1.0",
                "provides": [{"kind": "probe", "name": "acme"}],
                "requires": [],
            }
        ]
        changed |= {"package.json": json.dumps(manifest), "README.md": readme_text(manifest)}
    new = {name: text.encode() if isinstance(text, str) else text for name, text in changed.items()}
    return resealed(made, folder / "paper.zip", new)


@contextmanager
def _installed(folder: Path) -> Iterator[None]:
    """The module is where Python finds it."""
    for name, text in MODULE.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        forget_plugins()


def acme_run(folder: Path) -> RunStore:
    """A run folder of which the module's probe made all trials."""
    store = build_run(folder, PLAIN)
    trials = store.trials()
    _rewrite(store.folder / RunFile.MANIFEST, _measured_with_acme)
    for name in (RunFile.WORKFLOW, RunFile.WORKFLOW_APPLIED):
        _rewrite(store.folder / name, _asks_for_acme)
    (store.folder / RunFile.TRIALS).unlink()
    for trial in trials:
        if trial.label == "ping":
            store.append_trial(replace(trial, probe="acme"))
        else:
            shutil.rmtree(store.raw(trial.trial_id))
    SummaryAnalysis({}).analyse(store)
    # As where it was installed.
    probe = type("Acme", (Ping,), {"name": "acme"})
    point = StandIn("acme", "sfcperf.probes", "acme.probing:Acme", Provider("acme", "1.0"), probe)
    with plugins.further([point]):  # type: ignore[list-item]
        finish(store)
    return store


def _rewrite(path: Path, edit: Callable[[Any], None]) -> None:
    path.write_bytes(edited(path.read_bytes(), edit))


def _measured_with_acme(manifest: Any) -> None:
    manifest["probes"] = [{**manifest["probes"][0], "probe": "acme"}]


def _asks_for_acme(workflow: Any) -> None:
    workflow["probes"] = [{"probe": "acme", "name": "ping", "count": 2, "interval_s": 0.01}]
    workflow["figures"] = [each for each in workflow["figures"] if each["probe"] == "ping"]


def _shown(name: str, *, says: str, options: tuple[str, ...] = (), **how: Any) -> Attack:
    def make(folder: Path) -> list[str]:
        return ["replay", str(package(folder, **how)), *options]

    return Attack(name, make, says=says, exit_codes=(0,), limit_s=10)


def _refused(name: str, *, says: str, options: tuple[str, ...] = (), **how: Any) -> Attack:
    return replace(_shown(name, says=says, options=options, **how), exit_codes=(2,))


def _firewall(workflow: Any) -> None:
    workflow["vnfs"]["fwd"] = {"type": "firewall", "knobs": {"rules": 2}}
    workflow["factors"]["chain_length"] = [2]
    workflow["probes"] = [{"probe": "ping", "count": 5}]
    workflow.pop("figures", None)


def _openstack(workflow: Any) -> None:
    workflow["infrastructure"] = {"driver": "openstack"}


def _named(text: str) -> Callable[[Any], None]:
    def edit(workflow: Any) -> None:
        workflow["vnfs"][text] = workflow["vnfs"].pop("fwd")
        workflow["chain"]["functions"][0]["vnf"] = text

    return edit


def _vnfd(path: str) -> Callable[[Any], None]:
    def edit(workflow: Any) -> None:
        workflow["vnfs"]["fwd"]["vnfd"] = path

    return edit


def _resolved(value: Any) -> Callable[[Path], list[str]]:
    def make(folder: Path) -> list[str]:
        plan = json.loads(contents(packed(folder / "plan"))[f"{RUN}/plan.json"])
        plan["resolved"] = value
        return ["replay", str(package(folder, files={f"{RUN}/plan.json": json.dumps(plan)}))]

    return make


def _declares(text: str) -> dict[str, str]:
    return {**MODULE, "acme-1.0.dist-info/entry_points.txt": text}


def _program(
    name: str, says: str, exit_code: int = 2, code: Mapping[str, str] | None = None, **knobs: Any
) -> Attack:
    """`replay` of the package of a program with these knobs, which its plan has too, and with
    this code by its place in the package."""

    def make(folder: Path) -> list[str]:
        made = pack([with_program(folder)], folder / "author.zip", OPTIONS).path
        before = contents(made)
        new = {path: edited(before[path], _of_workflow) for path in WORKFLOWS}
        new[f"{RUN}/plan.json"] = edited(before[f"{RUN}/plan.json"], _of_plan)
        new |= {path: text.encode() for path, text in (code or {}).items()}
        return ["replay", str(resealed(made, folder / "paper.zip", new))]

    def _of_workflow(workflow: Any) -> None:
        workflow["vnfs"]["fwd"]["knobs"] |= knobs

    def _of_plan(plan: Any) -> None:
        for scenario in plan["resolved"].values():
            for function in scenario["chain"]["functions"]:
                function["knobs"] |= knobs

    return Attack(f"program-{name}", make, says=says, exit_codes=(exit_code,), limit_s=10)


_SCRIPT = "workflow-files/run-1/bin/own.sh"
_ODD = (None, [], {"s000": {"functions": 5}}, {"functions": [None]}, {"s000": [{"vnfd": "x"}]})
_BASE = {f"{RUN}/workflow-base.json": '{"folder": "../../workflow-files/run-1"}'}
_OUTSIDE = "does not come with the workflow"
_IMPORTS = VNFD.read_text().replace("\n", "\nimports: [/etc/hostname]\n", 1)

_DECLARES_OS = _declares("[sfcperf.probes]\nacme = os:system\n")
_DECLARES_PING = _declares("[sfcperf.probes]\nping = acme.probing:Acme\n")

ATTACKS = [
    _refused("another-vnf-than-plan.json-says", edit=_firewall, says="agreement"),
    _refused("another-driver-than-run.json-says", edit=_openstack, says="agreement"),
    _refused("escape-in-the-name-of-a-vnf", edit=_named("\x1b[2J"), says="documents"),
    _refused("override-of-the-text-direction", edit=_named("fwd\u202e"), says="u202e"),
    _refused("descriptor-by-an-absolute-path", edit=_vnfd("/etc/hostname"), says="vnfd"),
    _refused("descriptor-above-the-package", edit=_vnfd("../" * 20 + "etc/x"), says="vnfd"),
    _refused(
        "descriptor-of-another-run", edit=_vnfd("../run-2/x.yaml"), files=_BASE, says=_OUTSIDE
    ),
    _refused(
        "descriptor-that-imports-another-file",
        edit=_vnfd("own.yaml"),
        files={"workflow-files/run-1/own.yaml": _IMPORTS, **_BASE},
        says="which is not in its folder",
    ),
    _program("above-the-package", _OUTSIDE, command=["../" * 20 + "bin/sh"]),
    _program("of-another-run", _OUTSIDE, command=["../../run-2/own.sh"]),
    _program("that-is-the-list-of-hashes", _OUTSIDE, command=["../../../manifest-sha256.txt"]),
    _program("with-data-of-this-machine", _OUTSIDE, command=["a"], files={"a": "/etc/hostname"}),
    _program("with-kmsg", _OUTSIDE, command=["a"], files={"a": "/proc/kmsg"}),
    _program("in-an-image-of-this-machine", _OUTSIDE, command=["a"], image="/etc/hostname"),
    _program("in-an-image-that-is-none", "OCI image layout", image="data.txt"),
    _program("over-another-file", "pattern", command=["a"], files={"../a": ["x"]}),
    _program("with-escapes", "control character", command=["printf", "\x1b[2J"]),
    _program("of-other-code", "is not the file ../bin/own.sh", code={_SCRIPT: HOOK}),
    _program("that-runs-when-shown", "setup/0: touch hooked", 0, setup=[["touch", "hooked"]]),
    _program("by-its-library", "env LD_PRELOAD=./x", 0, env={"LD_PRELOAD": "./x"}),
    _shown("sitecustomize-in-a-module", module={"sitecustomize.py": HOOK}, says="not imported"),
    _shown("a-module-that-takes-ping", module=_DECLARES_PING, says="not imported"),
    _shown("a-plug-in-of-the-package", run=acme_run, module=MODULE, says="from acme 1.0"),
    _refused("a-plug-in-in-the-standard-library", module=_DECLARES_OS, says="declared as"),
    _refused("plug-ins-that-are-no-table", module=_declares("acme\x00"), says="cannot be read"),
    _refused("plug-ins-without-end", module=_declares("#" * (2 << 20)), says="too large"),
    _refused("a-bad-option", options=("--set", "no.such=1"), says="does not exist"),
    *(
        Attack(f"odd-plan-{n}", _resolved(value), exit_codes=(0, 2), limit_s=10)
        for n, value in enumerate(_ODD)
    ),
]
