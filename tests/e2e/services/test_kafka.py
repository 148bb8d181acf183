"""A real broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.services.service import new_context, started
from support.services.streams import store, stored

from sfcperf import plugins
from sfcperf.errors import DeploymentError, EnvironmentLacks
from sfcperf.services.kafka import topics
from sfcperf.services.kafka.topics import NAMES

pytestmark = pytest.mark.server


def test_it_stores_records(kafka: Any) -> None:
    assert kafka.problem() is None
    assert kafka.topics == NAMES
    assert kafka.address_for_functions == kafka.address
    before = kafka.counters()
    values = [f"{number:04}" for number in range(1000)]
    store(kafka.address, kafka.topics["verdicts"], values)
    assert sorted(stored(kafka.address, kafka.topics["verdicts"], 1000)) == values
    grown = {name: count - before[name] for name, count in kafka.counters().items()}
    assert grown == {"records": 0, "verdicts": 1000, "dead_letters": 0}


def test_topics_of_two_runs_on_one_cluster(kafka: Any, tmp_path: Path) -> None:
    contexts = []
    for tag in ("aaaaaa", "bbbbbb"):
        (tmp_path / tag).mkdir()
        contexts.append(new_context(tmp_path / tag, tag=tag))
    with (
        started(contexts[0], "kafka", bootstrap=[kafka.address], partitions=1) as one,
        started(contexts[1], "kafka", bootstrap=[kafka.address]) as other,
    ):
        assert one.address_for_functions == f"{kafka.address}/sfcperf-flow-records-aaaaaa"
        store(one.address, one.topics["records"], ["one"])
        assert one.counters() == {"records": 1, "verdicts": 0, "dead_letters": 0}
        assert other.counters() == {"records": 0, "verdicts": 0, "dead_letters": 0}
        assert one.problem() is None
    assert kafka.problem() is None
    lines = plugins.load("service", "kafka").undo(contexts[0].journal.outstanding(), dry_run=False)
    assert lines == []  # `stop` removed them


def test_topics_of_a_killed_run_are_removed(kafka: Any, tmp_path: Path) -> None:
    context = new_context(tmp_path, tag="cccccc")
    kind = plugins.load("service", "kafka")
    with started(context, "kafka", bootstrap=[kafka.address]) as running:
        left = context.journal.outstanding()
        names = sorted(f"topic {name} on {kafka.address}" for name in running.topics.values())
        assert sorted(kind.undo(left, dry_run=True)) == names
        assert running.problem() is None
        assert sorted(kind.undo(left, dry_run=False)) == names
        assert "there is no topic" in str(running.problem())


def test_a_cluster_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "_ANSWER_S", 0.5)
    context = new_context(tmp_path)
    with (
        pytest.raises(EnvironmentLacks, match=r"no broker of 127.0.0.1:9 answers"),
        started(context, "kafka", bootstrap=["127.0.0.1:9"]),
    ):
        pass
    with pytest.raises(DeploymentError, match=r"no broker of 127.0.0.1:9 answers"):
        plugins.load("service", "kafka").undo(context.journal.outstanding(), dry_run=False)


def test_an_address_of_another_machine(tmp_path: Path) -> None:
    with (
        pytest.raises(EnvironmentLacks, match=r"cannot listen on 192.0.2.1"),
        started(new_context(tmp_path), "kafka", listen="192.0.2.1"),
    ):
        pass
