"""A project that may not disable port security: what the firewall would drop is refused, and what
it lets through is measured.

A proxy before the APIs refuses what such a project may not do; the firewall is the cloud's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from support.cloud.cloud_runs import CloudLab, workflow
from support.faulty_cloud.clouds import NAME
from support.faulty_cloud.faults import Answer
from support.faulty_cloud.proxy import Proxy
from support.faulty_cloud.rules import Rule

from sfcperf.results.store import RunStore

pytestmark = [pytest.mark.server, pytest.mark.root, pytest.mark.exhaustive]


@pytest.fixture(autouse=True)
def _port_security_stays(proxy: Proxy) -> Iterator[None]:
    with proxy.failing(Rule(Answer(403), "network", "POST", r"/networks$")) as script:
        yield
    assert script.silent == []


def test_what_the_firewall_would_drop_is_refused(new_lab: Callable[..., CloudLab]) -> None:
    document = workflow(NAME)
    document["design"] |= {"max_retries": 0}
    lab = new_lab(document)
    assert lab.run() == 1, lab.said
    assert "may not disable port security" in lab.said
    assert "/infrastructure/config/chaining" in lab.said
    trials = RunStore(lab.run_folder).trials()
    assert [(trial.status, dict(trial.deployment)) for trial in trials] == [("failed", {})] * 2
    assert lab.run("clean") == 0
    assert "nothing to clean" in lab.said


def test_datagrams_pass(new_lab: Callable[..., CloudLab]) -> None:
    """In both encapsulations: networking-sfc takes the packets of functions before the firewall."""
    document = workflow(NAME)
    document["chain"] |= {
        "classifier": {"match": {"ip_proto": "udp"}}, "encapsulation": "${encapsulation}",
    }  # fmt: skip
    document |= {
        "factors": {"encapsulation": ["nsh-eth", "mpls"]},
        "probes": [
            {"probe": "iperf3", "protocol": "udp", "rate_bps": 300_000, "duration_s": 3},
        ],
    }  # fmt: skip
    lab = new_lab(document)
    assert lab.run() in (0, 1), lab.said
    trials = RunStore(lab.run_folder).trials()
    assert {trial.deployment["encapsulation"] for trial in trials} == {"nsh-eth", "mpls"}
    assert {trial.status for trial in trials} <= {"valid", "untrusted"}, lab.said
    assert all(trial.deployment["traversal"]["proven"] for trial in trials)
