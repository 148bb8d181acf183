"""Stand-ins of a package's plug-ins: they let a workflow be loaded without executing their code.

A stand-in accepts any parameters and adds no defaults. A probe's metrics are those in run.json.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf import plugins
from sfcperf.package.replay.packaged import PackagedModule, Provider
from sfcperf.results.values import Metric


@dataclass(frozen=True)
class StandIn:
    """Stands in for the entry point of a plug-in: it has what `sfcperf.plugins` uses of one."""

    name: str
    group: str
    value: str
    dist: Provider
    plugin: type

    def load(self) -> type:
        """Return the stand-in's class; no code of the package is imported."""
        return self.plugin


def stand_ins(
    modules: Sequence[PackagedModule], folder: Path, manifest: Mapping[str, Any]
) -> list[StandIn]:
    """Make a stand-in for each plug-in of these modules. `folder`: the unpacked package;
    `manifest`: run.json, which says what each probe reports."""
    metrics: dict[str, dict[str, Metric]] = {}
    # A probe has several entries if its labels or metrics differ: all their metrics count.
    for entry in manifest["probes"]:
        known = metrics.setdefault(entry["probe"], {})
        for each in entry["metrics"]:
            known[each["name"]] = Metric(each["name"], each["unit"], "", primary=each["primary"])
    found = []
    for module in modules:
        provider = Provider(module.distribution, module.version)
        for kind, name, value in module.plugins:
            reported = tuple(metrics.get(name, {}).values())
            plugin = _plugin(kind, name, reported, _place(folder / module.folder, value))
            found.append(StandIn(name, plugins.GROUPS[kind], value, provider, plugin))
    return found


def _plugin(kind: str, name: str, reported: tuple[Metric, ...], place: Path) -> type:
    """Make the class of a stand-in: it takes any parameters, and how long it runs is not known
    (NaN). `reported`: metrics, if it stands in for a probe; `place`: folder of the plug-in."""
    plugin = type(
        "StandIn",
        (plugins.base(kind),),
        {
            "__module__": __name__,
            "name": name,
            "title": "a plug-in of a package",
            "parameters": {"type": "object"},
            "reported": reported,
            "duration_s": classmethod(lambda _cls, _parameters: math.nan),
        },
    )
    # The folder of a VNF type has its descriptor. The base class has set it to that of this file.
    plugin.folder = place  # type: ignore[attr-defined]
    return plugin


def _place(folder: Path, value: str) -> Path:
    """Return the folder of the module that `value` (`module:class`) names, in a module's folder."""
    module = folder.joinpath(*value.partition(":")[0].split("."))
    return module if module.is_dir() else module.parent
