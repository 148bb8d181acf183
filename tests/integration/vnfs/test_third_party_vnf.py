"""The VNF type of docs/how-to/write-a-vnf.md, which is in nobody's tree and has no descriptor."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from support.example_plugin import EXAMPLE
from support.local import local_driver
from support.network.wires import eventually
from support.records.scenarios import scenario

from sfcperf import plugins
from sfcperf.workflow.load import load_document

pytestmark = pytest.mark.root


@pytest.fixture
def plug_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    point = EntryPoint("watch", "sfcperf_example.watch:Watch", "sfcperf.vnfs")
    with plugins.further([point]):
        yield


@pytest.mark.usefixtures("plug_in")
def test_it_forwards_counts_and_leaves_its_log(tmp_path: Path) -> None:
    chain = scenario(["watch"], knobs={"port": 4711})
    with local_driver(tmp_path) as driver:
        deployment = driver.deploy(chain)
        proof = driver.prove_traversal(deployment, chain)
        assert (proof.problems, proof.data_planes) == ((), {"watch-1": "counters"})
        [function] = deployment.functions
        assert function.counters()["seen"] == 0
        send = f"for n in 1 2 3; do echo hi >/dev/udp/{deployment.server.address}/4711; done"
        deployment.client.host.run(["bash", "-c", send], timeout_s=10)
        assert eventually(lambda: function.counters()["seen"] == 3)
        assert driver.problems(deployment) == []
        [pid] = driver._built[deployment.id].running["watch-1"].pids()
        os.kill(pid, signal.SIGKILL)
        assert eventually(
            lambda: any("no tcpdump" in found for found in driver.problems(deployment))
        )
        driver.teardown(deployment)
        [log] = driver.context.raw_dir.rglob("watch-1.log")
        assert "3 packets captured" in log.read_text()


@pytest.mark.usefixtures("plug_in")
def test_it_needs_no_descriptor(tmp_path: Path) -> None:
    document = {
        "sfcperf": 1,
        "name": "watched",
        "vnfs": {"watch": {"type": "watch"}, "large": {"type": "watch", "resources": {"vcpus": 2}}},
        "chain": {"functions": [{"vnf": "watch"}, {"vnf": "large"}]},
        "probes": [{"probe": "ping"}],
    }
    [one] = load_document(document, tmp_path).scenarios
    sizes = [(f.resources.vcpus, f.resources.memory_mib) for f in one.chain.functions]
    assert sizes == [(1, 256), (2, 256)]
