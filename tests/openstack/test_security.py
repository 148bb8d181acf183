"""IDS, broker, flow classifier and firewall with a chain of VMs: a management network instead of
the loopback address."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.cloud.cloud_runs import CONFIG, CloudLab
from support.services.classifier import write_trace
from support.services.service import kafka_is_there

from sfcperf.results.store import RunStore

pytestmark = [pytest.mark.server, pytest.mark.root]


def workflow(folder: Path) -> dict[str, Any]:
    """What trains is what is sent: the test is not about the quality of a model."""
    pcap, labels = write_trace(folder)
    trace = {"pcap": str(pcap), "labels": str(labels)}
    return {
        "sfcperf": 1,
        "name": "blocking",
        "infrastructure": {"driver": "openstack", "config": CONFIG},
        "topology": "T1",
        "services": {
            "stream": {"service": "kafka"},
            "judge": {
                "service": "classifier", "kafka": "stream", "training": trace, "share": 0.5,
            },
        },
        "vnfs": {
            "ids": {"type": "ids", "knobs": {"kafka": "stream", "window_s": 0.5}},
            "fw": {"type": "nsh_firewall"},
        },
        "chain": {
            "functions": [{"vnf": "ids"}, {"vnf": "fw"}],
            "classifier": {"match": {"ip_proto": "any"}},
            "encapsulation": "auto",
        },
        "probes": [{"probe": "labelled_traffic", **trace, "training_share": 0, "speed": 0.5}],
        "design": {"rounds": 1, "warmup_rounds": 0, "max_retries": 0},
        "publish": [],
    }  # fmt: skip


def test_attacks_are_blocked(new_lab: Callable[..., CloudLab], tmp_path: Path) -> None:
    """An emulated cloud may send late or lose packets, which makes a trial untrusted; that no
    record may be missing."""
    if not kafka_is_there():
        pytest.skip("Kafka is not there: make setup-security")
    lab = new_lab(workflow(tmp_path))
    assert lab.run() in (0, 1), lab.said
    (trial,) = RunStore(lab.run_folder).trials()
    assert trial.status in ("valid", "untrusted"), trial.reasons
    assert not [reason for reason in trial.reasons if "record" in reason], trial.reasons
    assert not [reason for reason in trial.reasons if "the chain got" in reason], trial.reasons
    notes: dict[str, Any] = dict(trial.notes)
    judged = notes["services"]["judge"]
    stored = judged["records_stored"]
    assert judged["records_received"] == sum(judged["labels"].values()) == stored > 0
    assert judged["rules_sent"] >= 1
    assert judged["in_force"]["count"] >= 1
    assert "first_packet" not in judged, "times of two clocks"
    assert notes["dropped_by_rules"] > 0
    assert notes["true_positive_flows"] > 0
    assert trial.deployment["encapsulation"] == "nsh-eth"
    assert not lab.manifest["services"]["stream"]["bootstrap"].startswith("127.")


@pytest.mark.exhaustive
def test_functions_of_fig9(new_lab: Callable[..., CloudLab], tmp_path: Path) -> None:
    """As shipped. An emulated server is slower than what `throughput` sends: it says so."""
    lab = new_lab({})
    asked = ("sfcperf-fig9", "--profile", "openstack", "--results", str(tmp_path / "results"))
    settings = ("--set", "preset=short", "--set", "design.rounds=1")
    assert lab.run("run", *asked, *settings) in (0, 1), lab.said
    trials = RunStore(lab.run_folder).trials()
    encapsulations = {t.scenario_id: t.deployment["encapsulation"] for t in trials}
    # The chain of the router alone has no function that takes NSH.
    assert sorted(encapsulations.values()) == ["mpls"] + 5 * ["nsh-eth"]
    assert {(t.label, t.status) for t in trials} <= {
        ("http", "valid"), ("rtt", "valid"), ("throughput", "valid"), ("throughput", "untrusted"),
    }  # fmt: skip
    assert len(trials) == 18
