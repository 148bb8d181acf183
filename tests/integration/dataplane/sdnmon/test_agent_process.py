"""sfc-sdnmon-agent as a process: its end, its next beginning, its command line."""

from __future__ import annotations

import dataclasses
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from support.network.wires import eventually
from support.sdnmon import openflow as of
from support.sdnmon.agent import TOOL
from support.sdnmon.five_tuple import FIVE, keys_of
from support.sdnmon.frames import udp_flow, udp_flows
from support.sdnmon.openflow import packed_keys
from support.sdnmon.switch import BRIDGE, Bench
from support.sdnmon.tool import bpf_file_system

from sfcperf.dataplane import binaries

pytestmark = pytest.mark.root


# --- its end ---


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_started_again_it_goes_on(fresh: Bench, number: int) -> None:
    """Packets are counted meanwhile, ports that came and went are found, the switch forwards."""
    fresh.connect()
    controller = fresh.accepted()
    settings = dataclasses.replace(FIVE, threshold=10, interval_ms=60_000, ratio=of.RATIO_ONE - 1)
    controller.ask(of.MODE_ON, settings.packed)
    controller.ask(of.ADD_ENTRIES, packed_keys(keys_of(range(200, 203))))
    fresh.ofctl("add-flow", "in_port=1,actions=output:2")
    fresh.send(udp_flows(range(5)))
    assert fresh.agent.signal(number) == (-number if number == signal.SIGKILL else 0)
    listens = Path(fresh.agent.address.removeprefix("unix:"))
    assert listens.exists() == (number == signal.SIGKILL)
    receiver = fresh.senders[1].wire()
    fresh.send([udp_flow(1)])
    assert receiver.drain() == [udp_flow(1)]
    receiver.close()
    fresh.send(udp_flows(range(100)))
    fresh.vsctl("del-port", fresh.names[1])
    fresh.agent.start()
    controller = fresh.accepted()
    found = controller.status()
    assert found.settings is not None
    assert found.settings == dataclasses.replace(settings, secret=None, limit=4096)
    assert found.entries == 103
    assert found.totals["received"] == 106
    assert eventually(lambda: controller.status().ports == fresh.names[:1])
    fresh.vsctl("add-port", BRIDGE, fresh.names[1])
    assert eventually(lambda: controller.status().ports == fresh.names)
    controller.ask(of.FEATURES)
    assert controller.notification()[1:] == (11, 10)
    controller.barrier()
    assert [m for m in controller.others if m.exp_type is not None] == []


# --- the command line ---


def _refused(*words: str) -> tuple[int, str]:
    done = subprocess.run([binaries.find(TOOL), *words], capture_output=True, text=True, timeout=20)
    return done.returncode, done.stderr.splitlines()[0]


def test_relays_that_are_none() -> None:
    wanted = "--relay: LISTEN=CONTROLLER or to:SWITCH=CONTROLLER, each tcp:IP:PORT or unix:PATH"
    addresses = [
        *("", "tcp:1.2.3.4", "tcp:1.2.3.4:0", "tcp:1.2.3.4:65536", "tcp::1", "tcp:[::1:1"),
        *("tcp:host:1", "unix:", "unix:" + "b" * 200, "ssl:1.2.3.4:1"),
    ]
    relays = [*(f"unix:/a={one}" for one in addresses), *(f"{one}=unix:/a" for one in addresses)]
    for relay in ("", "unix:/a", *relays):
        status, says = _refused("--state", "/nowhere/switch", "--relay", relay)
        assert (status, wanted in says) == (2, True), relay
    # What it quotes does not act on a terminal.
    command = [str(binaries.find(TOOL)), "--state", "/", "--relay", "\x1b[2J\x9b"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert done.returncode == 2
    assert b"[2J" in done.stderr
    assert done.stderr.isascii() and done.stderr.decode().replace("\n", "").isprintable()


def test_what_it_cannot_begin_with(tmp_path: Path) -> None:
    relay = f"--relay=unix:{tmp_path}/agent=unix:{tmp_path}/controller"
    assert _refused(relay) == (2, f"{TOOL}: --state is missing")
    assert _refused("--state", "/a") == (2, f"{TOOL}: --relay is missing")
    status, says = _refused("--state", f"{tmp_path}/switch", relay)
    assert (status, "is in no BPF file system" in says) == (1, True)
    with bpf_file_system(tmp_path) as pins, socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"tcp:127.0.0.1:{taken.getsockname()[1]}"
        status, says = _refused("--state", f"{pins}/switch", f"--relay={address}=unix:/nowhere")
        assert (status, says) == (1, f"{TOOL}: cannot listen at {address}: Address already in use")


def test_a_switch_that_listens(fresh: Bench) -> None:
    """It is connected to, also after it was away; its flows stay. Of one that does not listen, the
    agent says so once."""
    listens = f"unix:{fresh.folder}/{BRIDGE}.mgmt"
    fresh.agent.stop()
    fresh.agent.start(relays=[f"to:{listens}=unix:{fresh.agent.controller}"])
    flows = fresh.ofctl("dump-flows", "--no-stats")
    controller = fresh.accepted()
    controller.ask(of.MODE_ON, FIVE.packed)
    assert fresh.tool.status["ports"] != []
    assert fresh.ofctl("dump-flows", "--no-stats") == flows
    controller.close()
    assert fresh.accepted().status().on, "a new channel, within half a second"
    assert fresh.agent.complaints == ""
    fresh.agent.stop()
    fresh.agent.start(relays=[f"to:unix:{fresh.folder}/nobody=unix:{fresh.agent.controller}"])
    time.sleep(1.2)  # two attempts
    said = f"cannot connect to the switch unix:{fresh.folder}/nobody: No such file or directory"
    assert fresh.agent.complaints.count(said) == 1
