"""The service `kafka` without a broker: its parameters, and what it needs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.local import small_workflow
from support.services.service import new_context

from sfcperf.errors import EnvironmentLacks, WorkflowError
from sfcperf.services.jars import OVERRIDE
from sfcperf.services.kafka.service import Kafka
from sfcperf.vnfs.ids.function import Ids
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.load import load_document


def load(kafka: dict[str, Any], folder: Path, knob: str = "stream") -> Any:
    document = small_workflow(
        services={"stream": {"service": "kafka", **kafka}},
        vnfs={"ids": {"type": "ids", "knobs": {"kafka": knob}}},
        chain={"functions": [{"vnf": "ids"}]},
    )
    return load_document(document, folder)


@pytest.mark.parametrize(
    ("kafka", "where"),
    [
        ({"listen": "localhost"}, "listen"),
        ({"listen": "::1"}, "listen"),
        ({"bootstrap": ["broker:9092"]}, "bootstrap/0"),
        ({"bootstrap": ["10.0.0.1"]}, "bootstrap/0"),
        ({"bootstrap": ["10.0.0.1:1"], "port": 9092}, "bootstrap"),
        ({"bootstrap": ["10.0.0.1:1"], "listen": "10.0.0.2"}, "bootstrap"),
        ({"partitions": 0}, "partitions"),
    ],
)
def test_what_is_wrong(kafka: dict[str, Any], where: str, tmp_path: Path) -> None:
    with pytest.raises(WorkflowError) as caught:
        load(kafka, tmp_path)
    assert caught.value.where == f"/services/stream/{where}"


def test_what_is_right(tmp_path: Path) -> None:
    for kafka in ({}, {"bootstrap": ["10.0.0.1:1", "[fd00::1]:9092"]}, {"listen": "10.0.0.1"}):
        assert load(kafka, tmp_path).services[0].service == "kafka"


def test_a_name_that_is_no_service(tmp_path: Path) -> None:
    with pytest.raises(WorkflowError, match="no service 'steam'") as caught:
        load({}, tmp_path, knob="steam")
    assert caught.value.where == "/vnfs/ids/knobs/kafka"


@pytest.mark.parametrize(
    ("kafka", "services"),
    [
        ("", {}),
        ("10.0.0.1:9092", {}),
        ("[fd00::1]:9092", {}),
        ("10.0.0.1:9092,10.0.0.2:9092/mine-1.x", {}),
        ("10.0.0.1:9092/", {"kafka": "10.0.0.1:9092/"}),
        ("stream", {"kafka": "stream"}),
    ],
)
def test_what_the_knob_of_ids_refers_to(kafka: str, services: dict[str, str]) -> None:
    assert Ids.services(with_defaults(Ids.parameters, {"kafka": kafka})) == services


def test_it_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OVERRIDE, str(tmp_path))
    own = Kafka.requirements(with_defaults(Kafka.parameters, {}))
    (jars,) = (need for need in own if "jars" in need.name)
    assert not jars.met
    assert "make setup-security" in jars.remedy
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / ".complete").touch()
    assert all(need.met for need in Kafka.requirements(with_defaults(Kafka.parameters, {}))[2:])
    cluster = with_defaults(Kafka.parameters, {"bootstrap": ["10.0.0.1:1"]})
    assert [need.name for need in Kafka.requirements(cluster)] == ["sfcperf[security]"]


@pytest.mark.parametrize(
    "given",
    [{"listen": "127.0.0.1"}, {"bootstrap": ["127.0.0.1:9092"]}, {"bootstrap": ["[::1]:9092"]}],
)
def test_a_broker_that_other_machines_do_not_reach(given: dict[str, Any], tmp_path: Path) -> None:
    elsewhere = replace(new_context(tmp_path), address=lambda: "10.0.0.1")
    with pytest.raises(EnvironmentLacks, match=r"reach no broker at (127\.0\.0\.1|\[::1\])"):
        Kafka.start(elsewhere, with_defaults(Kafka.parameters, given))
