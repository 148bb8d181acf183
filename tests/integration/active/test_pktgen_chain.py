"""pktgen through real chains of the local driver."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.command import run_folder
from support.local import local_driver, small_workflow
from support.records.scenarios import scenario

from sfcperf.active.pktgen import PktgenLoad, parse_sent
from sfcperf.workflow.defaults import with_defaults

pytestmark = pytest.mark.root

DELAY_US = 3000
TRIES = 10
RATE_PPS, LOAD_S = 100_000, 0.5


def test_a_known_delay_is_in_the_latency(tmp_path: Path) -> None:
    workflow = tmp_path / "chain.json"
    document = small_workflow(
        vnfs={
            "fwd": {"type": "forwarder"},
            "late": {"type": "delay", "knobs": {"delay_us": DELAY_US}},
        },
        chain={
            "functions": [{"vnf": "fwd"}, {"vnf": "late"}],
            "classifier": {"match": {"ip_proto": "udp"}},
        },
        probes=[{"probe": "pktgen", "rate_pps": 500, "duration_s": 0.5, "flows": 20}],
    )
    workflow.write_text(json.dumps(document))
    results = run_folder(workflow, tmp_path, timeout_s=120)
    (line,) = (results / "trials.jsonl").read_text().splitlines()
    trial: dict[str, Any] = json.loads(line)
    found = {sample["metric"]: sample["value"] for sample in trial["samples"]}
    assert trial["status"] in ("valid", "untrusted")
    assert found["loss_ratio"] == 0
    assert found["latency_p999_us"] >= found["latency_p50_us"] >= DELAY_US
    assert trial["notes"]["engine"] == "xdp"
    # Each packet crossed each function.
    sent = trial["notes"]["packets_sent"]
    assert all(packets >= sent for packets in trial["packets"].values())
    assert set(trial["packets"]) == {"fwd-1", "late-1"}


@pytest.mark.exhaustive
def test_a_chain_that_takes_the_senders_time_withholds_packets(tmp_path: Path) -> None:
    """Rules of iptables are looked through one after the other, in the sender's time. Beside other
    work a sender also waits for its CPU, and then nothing is said about the chain."""
    slow = scenario(["firewall"], knobs={"engine": "iptables-legacy", "rules": 20_000})
    load = PktgenLoad(with_defaults(PktgenLoad.parameters, {}))
    with local_driver(tmp_path) as driver:
        deployment = driver.deploy(slow)
        try:
            load.prepare(deployment, tmp_path)
            for _ in range(TRIES):
                found = load.offer(deployment, tmp_path, RATE_PPS, LOAD_S)
                assert not found.reached(0.5)
                if found.withheld:
                    break
                sent = parse_sent((tmp_path / "pktgen-send.json").read_text())
                assert sent.waited_s is not None and sent.waited_s > 0.4 * LOAD_S
            else:
                pytest.skip("other processes had the sender's CPU for most of the time, each time")
        finally:
            load.cleanup()
    assert found.sent + found.withheld == pytest.approx(RATE_PPS * LOAD_S, abs=1)
    assert found.lost == 0
