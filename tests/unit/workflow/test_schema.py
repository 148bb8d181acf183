"""The schema: composition with plug-ins, and what is said about values that do not fit."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, ClassVar

import pytest
from jsonschema import Draft202012Validator
from support.schemas import properties
from support.workflows.plugins import (
    INSTALLED,
    Echo,
    document,
    findings_at,
    number,
    pointers,
    schema,
)

from sfcperf import plugins
from sfcperf.errors import EnvironmentLacks, SfcperfError
from sfcperf.workflow.schema import compose, effective_schema, own_schema
from sfcperf.workflow.varying import with_references


def shipped_schema() -> dict[str, Any]:
    text = (files("sfcperf.schemas") / "workflow.schema.json").read_text()
    return dict(json.loads(text))


def test_every_property_is_described() -> None:
    Draft202012Validator.check_schema(shipped_schema())
    base = own_schema()
    for name, sub in properties(base):
        target = base["$defs"][sub["$ref"].split("/")[-1]] if "$ref" in sub else sub
        assert sub.get("description") or target.get("description"), name


def test_the_effective_schema_is_valid_and_accepts_references(
    loaded: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(INSTALLED["monitor"], "broken")
    effective = effective_schema()
    Draft202012Validator.check_schema(effective)
    validator = Draft202012Validator(effective)
    varied = document(
        factors={"n": [1, 2]},
        topology="${n}",
        chain={"functions": [{"vnf": "fwd", "count": "${n}"}]},
        vnfs={"fwd": {"type": "copier", "knobs": {"batch": "${n}"}}},
        probes=[{"probe": "echo", "size": "${n}"}],
    )
    assert list(validator.iter_errors(varied)) == []
    wrong = document(probes=[{"probe": "echo", "size": "much"}])
    assert list(validator.iter_errors(wrong))
    wrong = document(design={"rounds": "${n}"})
    assert list(validator.iter_errors(wrong))


def test_what_is_composed_is_json_schema(loaded: list[Any]) -> None:
    """Also without plug-ins. What is not, jsonschema-rs refuses, and all loading becomes slow."""
    for used in ([], [("probe", "echo")], [("vnf", "copier"), ("driver", "local")]):
        Draft202012Validator.check_schema(compose(used))


def test_the_shipped_schema_and_the_strict_one_are_the_same_but_for_references() -> None:
    assert with_references(own_schema()) == shipped_schema()
    assert "reference" not in json.dumps(own_schema()["$defs"]["chain"])


def test_a_reference_may_fulfil_a_condition_between_parameters(
    loaded: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Branching(Echo):
        parameters: ClassVar[dict[str, Any]] = {
            **schema(kind={"enum": ["a", "b"], "default": "a"}, size=number(1)),
            "if": {"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
            "then": {"properties": {"size": {"maximum": 10}}},
            "else": {"properties": {"size": {"minimum": 100}}},
        }

    monkeypatch.setitem(INSTALLED["probe"], "echo", Branching)
    monkeypatch.delitem(INSTALLED["monitor"], "broken")
    validator = Draft202012Validator(effective_schema())

    def accepted(**parameters: Any) -> bool:
        return bool(validator.is_valid(document(probes=[{"probe": "echo", **parameters}])))

    assert accepted(kind="a", size=5) and not accepted(kind="a", size=200)
    assert accepted(kind="b", size=200) and not accepted(kind="b", size=5)
    assert accepted(kind="${k}", size=5) and accepted(kind="${k}", size=200)


def test_only_named_plugins_are_imported(load: Any, loaded: list[tuple[str, str]]) -> None:
    load()
    assert set(loaded) == {
        ("driver", "local"),
        ("vnf", "copier"),
        ("probe", "echo"),
        ("publisher", "report"),
    }


def test_a_plugin_that_does_not_import_is_an_environment_error(load: Any) -> None:
    with pytest.raises(EnvironmentLacks, match="broken"):
        load(monitors=[{"monitor": "broken"}])


def test_a_plugin_with_a_wrong_schema_or_a_clash_is_named(
    load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Wrong:
        parameters: ClassVar[dict[str, Any]] = {"type": "thing"}

    class Clash:
        parameters: ClassVar[dict[str, Any]] = schema(name=number(1))

    for plugin, message in ((Wrong, "wrong schema"), (Clash, "parameter 'name'")):
        monkeypatch.setitem(INSTALLED["probe"], "echo", plugin)
        with pytest.raises(SfcperfError, match=message):
            load()


def echo(**parameters: Any) -> dict[str, Any]:
    return {"probes": [{"probe": "echo", **parameters}]}


@pytest.mark.parametrize(
    ("changes", "pointer", "message", "help_text"),
    [
        ({"probe": []}, "/probe", "not known", "probes"),
        ({"sfcperf": 2}, "/sfcperf", "must be 1, not 2", "Version"),
        ({"name": None}, "", "'name' is missing", ""),
        ({"name": "../etc"}, "/name", "required pattern", "Letters"),
        ({"probes": []}, "/probes", "at least 1", ""),
        ({"probes": [{"probe": "ecco"}]}, "/probes/0/probe", "not known", "'echo'"),
        ({"probes": [{"probe": ["echo"]}]}, "/probes/0/probe", "must be a string", "Name"),
        ({"probes": [{"count": 1}]}, "/probes/0", "'probe' is missing", "Name of the probe"),
        (echo(cuont=1), "/probes/0/cuont", "not known", "'count'"),
        (echo(count="1"), "/probes/0/count", "an integer", ""),
        (echo(count=0), "/probes/0/count", "at least 1", ""),
        (echo(count=True), "/probes/0/count", "not true", ""),
        (echo(size=-1), "/probes/0/size", "at least 0", "Size"),
        # An alternative of which one branch is nearer, and one of which none is.
        (echo(probe="stream", rate_bps="max"), "/probes/0/rate_bps", "", 'an integer or "maximum"'),
        (echo(probe="stream", rate_bps=7), "/probes/0/rate_bps", "at least 1000", ""),
        (
            {"monitors": [{"monitor": "watch", "interval_s": 0}]},
            "/monitors/0/interval_s",
            "more than 0",
            "",
        ),
        ({"publish": [{"to": "report", "colour": 1}]}, "/publish/0/colour", "true or false", ""),
        ({"infrastructure": {"driver": "locl"}}, "/infrastructure/driver", "known", "'local'"),
        ({"infrastructure": {"driver": "lab"}}, "/infrastructure", "'config' is missing", ""),
        (
            {"infrastructure": {"driver": "local", "config": {"site": "x"}}},
            "/infrastructure/config/site",
            "not known",
            "dataplane",
        ),
        (
            {"vnfs": {"fwd": {"type": "copier", "knobs": {"batch": 65}}}},
            "/vnfs/fwd/knobs/batch",
            "at most 64",
            "",
        ),
        ({"topology": "T4"}, "/topology", "not allowed", "an object"),
        ({"topology": {"nodes": {"n": {"cpu": 1}}}}, "/topology/nodes/n/cpu", "known", "vcpus"),
        ({"topology": {"nodes": {}}}, "/topology/nodes", "at least 1", ""),
        (
            {"endpoints": {"client": {"address": "10.0.0.300"}}},
            "/endpoints/client/address",
            "ipv4",
            "",
        ),
        ({"chain": {"functions": [], "spi": 1 << 23}}, "/chain/spi", "at most 8388607", "RFC 8300"),
        ({"factors": {"n": [[1]]}}, "/factors/n/0", "not a list", ""),
        ({"presets": {"s": []}}, "/presets/s", "must be an object", ""),
        # Many places share the rule for names, which says nothing of what is named there.
        ({"variants": {"release 1": {}}}, "/variants/release 1", "pattern", "variant. Letters"),
        ({"vnfs": {"a b": {"type": "copier"}}}, "/vnfs/a b", "pattern", "Name of a VNF"),
        (echo(name="a b"), "/probes/0/name", "pattern", "Label in"),
    ],
)
def test_misfits_say_where_what_and_what_is_allowed(
    refused: Any, changes: dict[str, Any], pointer: str, message: str, help_text: str
) -> None:
    error = refused(**changes)
    found = [finding for finding in findings_at(error, pointer) if message in finding.message]
    assert found, (pointers(error), str(error))
    assert help_text in f"{found[0].allowed} {found[0].hint}"


def test_several_findings_come_together(refused: Any) -> None:
    assert "control character" in refused(name="abc\n").message
    error = refused(
        name=None,
        probes=[{"probe": "echo", "count": 0}, {"probe": "nope"}],
        design={"rounds": 0},
        topolgy="T1",
    )
    assert pointers(error) == {
        "",
        "/topolgy",
        "/probes/0/count",
        "/probes/1/probe",
        "/design/rounds",
    }


def test_installed_plugins_are_all_composed() -> None:
    effective = effective_schema()
    Draft202012Validator.check_schema(effective)
    for kind in ("driver", "vnf", "probe", "monitor", "publisher"):
        assert plugins.names(kind)
        for name in plugins.names(kind):
            assert f"{kind}.{name}" in effective["$defs"]
