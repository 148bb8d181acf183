"""What a program in a workflow may be, and where the errors point."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples
from support.workflows.file import load_workflow

from sfcperf.errors import MeasurementError, WorkflowError
from sfcperf.vnfs.program.counters import parsed
from sfcperf.vnfs.program.processes import Relative, family
from sfcperf.workflow.model import Workflow

NSH = {"attach": "nsh", "command": ["x"]}
SHAPER = {
    "setup": [["tc", "qdisc", "add", "dev", "{{egress}}", "root", "tbf", "rate", "{{rate}}mbit"]],
    "schema": {"rate": {"type": "integer", "minimum": 1, "default": 100}},
}


def written(folder: Path, knobs: dict[str, Any], **sections: Any) -> Path:
    document = {
        "sfcperf": 1,
        "name": "program",
        "vnfs": {"own": {"type": "program", "knobs": knobs}},
        "chain": {"functions": [{"vnf": "own"}]},
        "probes": [{"probe": "ping"}],
        **sections,
    }
    file = folder / "workflow.json"
    file.write_text(json.dumps(document))
    return file


def loaded(folder: Path, knobs: dict[str, Any], **sections: Any) -> Workflow:
    return load_workflow(written(folder, knobs, **sections))


def test_own_knobs_are_factors(tmp_path: Path) -> None:
    knobs = {**SHAPER, "values": {"rate": "${rate}"}}
    workflow = loaded(tmp_path, knobs, factors={"rate": [10, 20]})
    functions = [scenario.chain.functions[0] for scenario in workflow.scenarios]
    assert [function.knobs["values"] for function in functions] == [{"rate": 10}, {"rate": 20}]


def test_paths_start_at_the_workflow(tmp_path: Path) -> None:
    for name in ("own.sh", "data.bin"):
        (tmp_path / name).touch(0o755)
    knobs = {"command": ["./own.sh", "data.bin"], "files": {"data.bin": "data.bin", "x": ["one"]}}
    [scenario] = loaded(tmp_path, knobs).scenarios
    found = scenario.chain.functions[0].knobs
    assert found["command"] == [str(tmp_path / "own.sh"), "data.bin"]
    assert found["files"] == {"data.bin": str(tmp_path / "data.bin"), "x": ["one"]}
    assert scenario.chain.functions[0].knobs_as_written["files"] == knobs["files"]
    assert scenario.chain.functions[0].knobs_as_written["command"] == knobs["command"]


@pytest.mark.parametrize(
    ("knobs", "where", "helps"),
    [
        ({}, "", "nothing would run"),
        ({"setup": [["true"]], "ready": {"port": 80}}, "ready", "no `command`"),
        ({"command": ["x", "{{igress}}"]}, "command/1", "there is no {{igress}}"),
        ({"setup": [["true"], ["x", "{{y}}"]]}, "setup/1/1", "there is no {{y}}"),
        ({"command": ["x"], "files": {"a": ["", "{{y}}"]}}, "files/a/1", "there is no {{y}}"),
        ({"command": ["x", "{{mac}}"]}, "command/1", "there is no {{mac}}"),
        ({**NSH, "command": ["x", "{{egress}}"]}, "command/1", "there is no {{egress}}"),
        ({**NSH, "encapsulations": []}, "encapsulations", "at least 1"),
        (
            {"command": ["x"], "encapsulations": ["nsh-vxlan-gpe"]},
            "encapsulations",
            "only a program that gets NSH",
        ),
        ({"command": ["x"], "env": {"A": "{{y}}"}}, "env/A", "there is no {{y}}"),
        ({"command": ["x"], "ready": {"output": "("}}, "ready/output", "not a regular expression"),
        ({"command": ["x"], "ready": {"port": 1, "output": "x"}}, "ready", "at most 1 key"),
        ({"command": ["x"], "files": {"a": "absent"}}, "files/a", "there is no file"),
        ({"command": ["./absent"]}, "command/0", "there is no file"),
        ({"command": ["../"]}, "command/0", "is a folder"),
        ({"command": ["x"], "files": {"a": ".."}}, "files/a", "is a folder"),
        ({"command": ["x"], "files": {"a": "/dev/null"}}, "files/a", "no regular file"),
        ({"command": ["x"], "files": {"a": "x" * 300}}, "files/a", "File name too long"),
        ({**SHAPER, "values": {"rate": 0}}, "values/rate", "must be at least 1"),
        ({**SHAPER, "values": {"rte": 1}}, "values/rte", "did you mean 'rate'"),
        ({**SHAPER, "schema": {"rate": {"type": "number"}}}, "schema/rate", "has no value"),
        ({**SHAPER, "schema": {"rate": {"type": "numbr"}}}, "schema/rate/type", "not known here"),
        ({**SHAPER, "schema": {"rate": {"$ref": "file:///x"}}}, "schema/rate/$ref", "not known"),
        (
            {**SHAPER, "schema": {"client": {"type": "string"}}},
            "schema/client",
            "something else already",
        ),
        ({"command": ["x"], "files": {"../a": ["x"]}}, "files/..~1a", "pattern"),
        ({"command": "x y"}, "command", '["ip", "link", "show"]'),
        # What new users write:
        ({"command": ["x a b"]}, "command/0", '["x", "a", "b"]'),
        ({"command": ["x"], "setup": [["ip link set up", 1]]}, "setup/0/0", '["ip", "link", "set'),
        ({"command": ["x"], "setup": ["ip", "link"]}, "setup/0", '["ip", "link", "show"]'),
        ({"command": ["x"], "setup": "ip link"}, "setup", '[["ip", "link", "show"]]'),
        ({"command": [""]}, "command/0", "missing"),
        ({"command": ["x", "$ingress"]}, "command/1", "{{ingress}}"),
        ({"command": ["x", "${ingress}"]}, "command/1", "{{ingress}}"),
        ({"command": ["x", "{ingress}"]}, "command/1", "{{ingress}}"),
        ({"command": ["x", "{{ ingress }}"]}, "command/1", "{{ingress}}"),
        ({"command": ["x", "&"]}, "command/1", '["sh", "-c", "..."]'),
        ({"command": ["x"], "setup": [["a", "&&", "b"]]}, "setup/0/1", '["sh", "-c", "..."]'),
        ({"command": ["x"], "ready": "^up"}, "ready", "`output`"),
        ({"command": ["x"], "ready": {"log": "^up"}}, "ready/log", "output"),
        ({"command": ["x"], "ready": {"port": "80"}}, "ready/port", "without quotes"),
        ({"command": ["x"], "files": {"etc/a": ["x"]}}, "files/etc~1a", "without folders"),
        ({"command": ["x"], "files": {"a": "x\ny"}}, "files/a", "list of strings"),
        ({"command": ["x"], "env": ["LEVEL=3"]}, "env", '{"LEVEL": 3}'),
        ({"command": ["x"], "rules": 100}, "rules", "`schema`"),
        ({"command": ["x"], "values": {"rules": 100}}, "values/rules", "`schema`"),
        ({"command": ["x"], "schema": {"rules": 100}}, "schema/rules", '{"type": "integer"'),
        (
            {"command": ["x"], "schema": {"rules": {"type": "integer", "default": "1"}}},
            "schema/rules/default",
            "without quotes",
        ),
        ({"command": ["x"], "attach": "bridge"}, "attach", "'bridged'"),
        ({"command": ["x"], "stop_signal": "TERM"}, "stop_signal", "'SIGTERM'"),
    ],
)
def test_errors_point_to_their_place(
    tmp_path: Path, knobs: dict[str, Any], where: str, helps: str
) -> None:
    """And contain what helps."""
    with pytest.raises(WorkflowError) as told:
        loaded(tmp_path, knobs)
    assert told.value.where == f"/vnfs/own/knobs/{where}".rstrip("/")
    assert helps in str(told.value)


def test_what_only_looks_like_a_mistake_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "my own.sh").touch()
    knobs = {
        "command": ["./my own.sh", "{{ingress}}", "a && b", "$x", "{print $1}", "{{.State}}"],
        "setup": [["awk", "&", "|"], ["sh", "-c", "own & echo $ingress {ingress}"]],
        "files": {"a": ["{{ .Names }} $ingress && {client} &"]},
    }
    loaded(tmp_path, knobs)


def test_a_file_outside_of_a_package_is_refused(tmp_path: Path) -> None:
    (tmp_path / "packed").mkdir()
    (tmp_path / "secret").touch()
    file = written(tmp_path / "packed", {"command": ["cat"], "files": {"a": "../secret"}})
    with pytest.raises(WorkflowError, match="does not come with the workflow"):
        load_workflow(file, within=tmp_path / "packed")


@pytest.mark.parametrize(
    "printed", ['{"seen": 3, "lost": 0}', "seen 3\nlost 0\n", "seen=3\nlost: 0"]
)
def test_counters(printed: str) -> None:
    assert parsed(printed) == {"seen": 3, "lost": 0}


@pytest.mark.parametrize(
    "printed",
    [
        '{"a": 1.5}',
        '{"a": true}',
        '{"a": -1}',
        '{"a": {}}',
        '{"a b": 1}',
        "a",
        "a b",
        "1 2",
        '{"a"',
    ],
)
def test_what_is_no_counter_is_refused(printed: str) -> None:
    with pytest.raises(MeasurementError):
        parsed(printed)


@given(st.text() | st.from_regex(r"\{.*\}"))
@examples(300)
def test_whatever_is_printed(printed: str) -> None:
    try:
        found = parsed(printed)
    except MeasurementError:
        return
    assert all(type(value) is int and value >= 0 for value in found.values())


def test_a_family_has_children_of_children_and_its_session() -> None:
    everyone = [
        Relative(10, 1, 10, 0),
        Relative(11, 10, 10, 0),
        Relative(12, 11, 12, 0),
        Relative(13, 1, 10, 0),
        Relative(14, 13, 14, 0),
        Relative(20, 1, 20, 0),
    ]
    found = family({each.pid: each for each in everyone}, 10)
    assert sorted(found) == [10, 11, 12, 13, 14]
