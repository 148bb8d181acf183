"""Hostile workflows."""

# ruff: noqa: E501 - tables are easier to read with one row per line

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from support.attacks import Attack

VNFS = {"sf": {"type": "forwarder"}}
CHAIN = {"functions": [{"vnf": "sf"}]}
PING = {"probe": "ping", "count": 2}
MIB = 1 << 20


def workflow(**sections: Any) -> str:
    """A sound workflow with other sections."""
    own = {"sfcperf": 1, "name": "hostile", "vnfs": VNFS, "chain": CHAIN, "probes": [PING]}
    return json.dumps({**own, **sections}, separators=(",", ":"))


def validate(make: Callable[[], str], folder: Path, verb: str = "validate") -> list[str]:
    """Writes a workflow and checks it."""
    (folder / "workflow.json").write_text(make())
    return [verb, "workflow.json"]


def _fifo(folder: Path) -> list[str]:
    os.mkfifo(folder / "workflow.json")
    return ["validate", "workflow.json"]


def _repeated(item: str, size: int = MIB - 200) -> str:
    """A list of equal items, as text."""
    return "[" + ",".join([item] * (size // (len(item) + 1))) + "]"


def _with_text(section: str, text: str) -> str:
    """A workflow with a section that is given as text, which is quicker than to make it."""
    return workflow(**{section: "@"}).replace('"@"', text)


def _large_level(references: int, size: int) -> str:
    level = {"name": "big", "value": {"probe": "ping", "x": "y" * size}}
    return workflow(factors={"f": [level]}, probes=["${f}"] * references)


def _references_in_options(references: int, values: int) -> str:
    level = {"name": "big", "value": [0] * values}
    options = {"list": ["${f}"] * references}
    return workflow(factors={"f": [level]}, endpoints={"client": {"options": options}})


def _levels(count: int, values: int) -> str:
    """One reference in a large section, so that it has a form for each level."""
    options = {"n": "${f}", "list": [0] * values}
    return workflow(factors={"f": list(range(count))}, endpoints={"client": {"options": options}})


def _variants(changes: int) -> str:
    probes = [{**PING, "name": f"p{n}", "interval_s": "${i}"} for n in range(32)]
    paths = {f"endpoints.client.options.k{n}": [n] * 4 for n in range(changes)}
    return workflow(
        factors={"i": [0.01 + n / 1000 for n in range(60)], "count": [1]},
        chain={"functions": [{"vnf": "sf", "count": "${count}"}] * 32},
        endpoints={"client": {"options": {"a": 1}}},
        probes=probes,
        variants={f"v{n}": paths for n in range(16)},
    )


def _label(references: int, values: int) -> str:
    """A level without a name is shown as JSON, wherever a string contains it."""
    options = {"list": ["x${f}"] * references}
    return workflow(
        factors={"f": [{"a": ["b" * 100] * values}]}, endpoints={"client": {"options": options}}
    )


def _unknown_keys(count: int) -> str:
    return workflow(**{f"k{n}": 0 for n in range(count)})


def _trials() -> str:
    probes = [{**PING, "name": f"p{n}"} for n in range(32)]
    return workflow(
        factors={"f": list(range(1000))},
        endpoints={"client": {"options": {"x": "${f}"}}},
        probes=probes,
        design={"rounds": 999, "warmup_rounds": 99},
    )


def _mixture() -> str:
    """Within each limit by itself."""
    options = {"n": "${f}", "list": [0] * 200}
    return workflow(
        factors={"f": list(range(2, 62))},
        endpoints={"client": {"options": options}},
        probes=[{**PING, "name": f"p{n}", "count": "${f}"} for n in range(32)],
        variants={f"v{n}": {"endpoints.client.options.x": n} for n in range(16)},
    )


def _forms(count: int) -> str:
    """A section that is large, but sound, in many forms."""
    probes = [
        {**PING, "name": f"p{n}", "interval_s": "${f}", "payload_bytes": 56} for n in range(32)
    ]
    return workflow(factors={"f": [0.01 + n / 1e5 for n in range(count)]}, probes=probes)


def _program(knobs: dict[str, Any]) -> str:
    return workflow(vnfs={"sf": {"type": "program", "knobs": knobs}})


CONTROL = "\x1b[2J\x07\x9b31m"


def _attack(
    name: str, make: Callable[[], str], says: str, verb: str = "validate", **expected: Any
) -> Attack:
    return Attack(name, partial(validate, make, verb=verb), says=says, **expected)


ATTACKS = [
    Attack("workflow-is-a-fifo", _fifo, says="not a regular file"),
    Attack("workflow-is-a-device", lambda _: ["validate", "/dev/zero"], says="not a regular file"),
    Attack("workflow-is-kmsg", lambda _: ["validate", "/proc/self/pagemap"]),
    _attack("nested-lists", lambda: "[" * 100_000, "nested too deeply"),
    _attack("many-lists", lambda: _repeated("[]"), "values"),
    _attack("many-lists-as-functions", lambda: _with_text("chain", '{"functions":' + _repeated("[]") + "}"), "/chain/functions"),
    _attack("many-lists-as-probes", lambda: _with_text("probes", _repeated("[]")), "/probes"),
    _attack("many-lists-as-levels", lambda: _with_text("factors", '{"f":' + _repeated("[]") + "}"), "/factors/f"),
    _attack("many-objects-as-levels", lambda: _with_text("factors", '{"f":' + _repeated("{}") + "}"), "/factors/f"),
    _attack("many-lists-as-options", lambda: _with_text("endpoints", '{"client":{"options":{"x":' + _repeated("[]") + "}}}"), "/endpoints/client/options/x"),
    _attack("many-lists-as-rules", lambda: _with_text("vnfs", '{"sf":{"type":"firewall","knobs":{"rules":' + _repeated("[]") + "}}}"), "/vnfs/sf/knobs/rules"),
    _attack("many-lists-as-publishers", lambda: _with_text("publish", _repeated("[]", 130_000)), "/publish"),
    _attack("many-functions", lambda: workflow(chain={"functions": [0] * 100_000}), "/chain/functions"),
    _attack("many-sound-functions", lambda: workflow(chain={"functions": [{"vnf": "sf"}] * 60_000}), "/chain/functions"),
    _attack("many-probes", lambda: workflow(probes=[{"probe": "ping"}] * 40_000), "/probes"),
    _attack("many-probes-by-level", lambda: workflow(factors={"f": [{"name": "a", "value": [{"probe": "ping"}] * 15_000}]}, probes="${f}"), "/probes"),
    _attack("many-unknown-keys", lambda: _unknown_keys(15_000), "not known here"),
    _attack("a-long-key", lambda: workflow(**{"k" * 1_000_000: 0}), "not known here"),
    _attack("many-vnfs", lambda: workflow(vnfs={f"v{n}": {"type": "x"} for n in range(15_000)}), "/vnfs"),
    _attack("many-factors", lambda: workflow(factors={f"f{n}": [1] for n in range(15_000)}), "/factors"),
    _attack("many-unused-levels", lambda: workflow(factors={f"f{n}": [*range(1000)] for n in range(8)}), "/factors"),
    _attack("a-large-level", lambda: _large_level(20_000, 200_000), "/probes"),
    _attack("a-large-level-in-options", lambda: _references_in_options(15_000, 5_000), "/endpoints"),
    _attack("many-levels-of-a-large-section", lambda: _levels(500, 18_000), "/endpoints"),
    _attack("variants-levels-references", lambda: _variants(250), "16 variants"),
    _attack("variants-of-few-changes", lambda: _variants(20), "16 variants"),
    _attack("long-labels", lambda: _label(10_000, 200), "/factors/f"),
    _attack("many-changes-in-variants", lambda: workflow(variants={v: {f"endpoints.client.options.k{n}": n for n in range(9_000)} for v in "ab"}), "/variants"),
    _attack("many-changes-in-a-preset", lambda: workflow(preset="p", presets={"p": {f"endpoints.client.options.k{n}": n for n in range(15_000)}}), "/presets"),
    _attack("rounds-of-1e18", lambda: workflow(design={"rounds": 10**18}), "/design/rounds"),
    _attack("millions-of-trials", _trials, "/design/rounds", verb="plan"),
    _attack("a-mixture", _mixture, "", exit_codes=(0, 2)),
    _attack("many-forms", lambda: _forms(1000), "/probes"),
    _attack("as-many-forms-as-allowed", lambda: _forms(440), "440 scenarios", exit_codes=(0,)),
    _attack("a-program-that-reads-the-memory-map", lambda: _program({"command": ["cat"], "files": {"a": "/proc/self/pagemap"}}), "changes while it is read", verb="plan", exit_codes=(0,)),
    _attack("a-program-that-reads-a-device", lambda: _program({"command": ["cat"], "files": {"a": "/dev/zero"}}), "no regular file"),
    _attack("a-program-of-a-long-name", lambda: _program({"command": ["./" + "x" * 4000]}), "/vnfs/sf/knobs/command/0"),
    _attack("a-program-that-is-only-looked-at", lambda: _program({"command": ["touch", "/tmp/hooked"], "ready": {"command": ["touch", "hooked"]}}), "ready/command: touch hooked", verb="plan", exit_codes=(0,)),
    _attack("control-characters-in-a-name", lambda: workflow(name=CONTROL), "/name"),
    _attack("control-characters-in-a-vnf-name", lambda: workflow(vnfs={CONTROL: {"type": "x"}}), "/vnfs"),
    _attack("control-characters-in-a-factor", lambda: workflow(factors={CONTROL: [1]}), "/factors"),
    _attack("control-characters-in-raw-json", lambda: '{"a\x1b[2J": "\x9b"}', "not JSON"),
]  # fmt: skip
