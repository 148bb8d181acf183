"""SDN-Mon as a whole: packets, a real Open vSwitch, agents, the controller, its REST interface."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from support.network.wires import eventually
from support.sdnmon.controller import Controller, path
from support.sdnmon.network import Network, network
from support.sdnmon.strangers import send, sent_by_strangers
from support.sdnmon.tool import FIVE_TUPLE

from sfcperf.dataplane.sdnmon.controller.flows import layout_of
from sfcperf.dataplane.sdnmon.model import Monitor, counts
from sfcperf.hosts.process import inside

pytestmark = [pytest.mark.root, pytest.mark.server]
HASH_KEY = 0x0123456789ABCDEF
LAYOUT = layout_of(FIVE_TUPLE)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    with network(tmp_path_factory.mktemp("sdnmon")) as made:
        made.controller.await_switches(1, 2)
        yield made
        assert made.controller.process.poll() is None
        for agent in made.agents.values():
            said = agent.complaints.splitlines()
            # While a test killed the controller.
            assert all("Connection refused" in line for line in said), said


@pytest.fixture
def net(shared: Network) -> Iterator[Network]:
    """Monitoring is off before and after."""
    yield shared
    for switch in (1, 2):
        shared.controller.client.delete(path(switch, "monitoring"))


def frames(seed: int, flows: int, packets: int) -> list[bytes]:
    """Packets of TCP and UDP in random order."""
    draw = random.Random(seed)
    made = []
    for number in range(flows):
        transport = TCP if number % 2 else UDP
        head = Ether(src="02:00:00:00:00:aa", dst="02:00:00:00:00:bb")
        head /= IP(src=f"10.0.{number >> 8}.{number & 255}", dst="10.9.0.1")
        made.append(bytes(head / transport(sport=number, dport=53) / Raw(bytes(number % 100))))
    return made + draw.choices(made, k=packets - flows)


def turn_on(controller: Controller, switch: int, **settings: Any) -> None:
    body = {"fields": FIVE_TUPLE, "secret": HASH_KEY, "capacity": 10_000, **settings}
    controller.request("PUT", path(switch, "monitoring"), body)


def entries(controller: Controller, switch: int) -> list[dict[str, Any]]:
    head, *found = controller.lines(path(switch, "statistics"))
    assert head["entries"] == len(found)
    return found


# --- counts ---


def test_counted_equals_sent(net: Network) -> None:
    """The judge is the model, which reads the frames that scapy made."""
    ratio = 0.5
    for switch in (1, 2):
        turn_on(net.controller, switch, ratio=ratio)
    sent = frames(1, 300, 2000)
    net.send(sent)
    model = Monitor(LAYOUT, HASH_KEY, ratio)
    for frame in sent:
        model.receive(frame)
    wanted = {key: (*count, False) for key, count in counts(model).items()}
    for switch in (1, 2):
        found = entries(net.controller, switch)
        assert {
            LAYOUT.key(_values(each["flow"]), _headers(each["flow"])): (
                *(each["packets"], each["bytes"]),
                each["added"],
            )
            for each in found
        } == wanted
        assert all(sum(i[1] for i in each["intervals"]) == each["packets"] for each in found)
        status = net.controller.request("GET", path(switch, "status"))
        assert status["totals"]["monitored"] == model.totals["monitored"]
        assert status["totals"]["unsampled"] == model.totals["unsampled"]
        assert sorted(status["ports"]) == net.ports[switch]


def _values(flow: dict[str, Any]) -> dict[str, int]:
    return {
        name: int.from_bytes(map(int, value.split("."))) if name.startswith("ipv4") else value
        for name, value in flow.items()
    }


def _headers(flow: dict[str, Any]) -> set[str]:
    return {"ip", "ipv4", "ports"} | ({"tcp"} if flow["ip_proto"] == 6 else set())


# --- the paper's calls, and what the tool says of them ---


def test_calls_change_what_the_tool_shows(net: Network) -> None:
    controller, tool = net.controller, net.agents[1].tool
    turn_on(controller, 1, mode="bloom", counter_buffer_size=4, query_interval_ms=2000, ratio=0.25)
    status = tool.status
    shown = {name: status[name] for name in ("mode", "slots", "interval_ms", "ratio", "capacity")}
    assert shown == {
        "mode": "bloom",
        "slots": 4,
        "interval_ms": 500,
        "ratio": 0.25,
        "capacity": 10_000,
    }
    for where, name, value in (
        ("sampling-ratio", "ratio", 0.125),
        ("query-time-interval", "query_interval_ms", 4000),
        ("overflow-notification-threshold", "threshold", 7),
        ("limit", "limit", 8),
    ):
        controller.request("PUT", path(1, where), {name: value})
    status = tool.status
    shown = {name: status[name] for name in ("ratio", "interval_ms", "notify", "limit")}
    assert shown == {"ratio": 0.125, "interval_ms": 1000, "notify": 7, "limit": 8}
    found = controller.request("GET", path(1, "status"))
    shown = {name: found[name] for name in ("ratio", "query_interval_ms", "threshold", "limit")}
    assert shown == {"ratio": 0.125, "query_interval_ms": 4000, "threshold": 7, "limit": 8}

    body = {"fields": "ipv6_src/64,vlan_vid,tcp_flags/0x12", "capacity": 50}
    controller.request("PUT", path(1, "table"), body)
    masks = {field["name"]: field["mask"] for field in tool.status["fields"]}
    masks.pop("presence")
    assert masks == {"ipv6_src": "ffff:ffff:ffff:ffff::", "vlan_vid": 0x1FFF, "tcp_flags": 0x12}
    assert controller.request("GET", path(1, "status"))["fields"] == masks

    controller.request("DELETE", path(1, "monitoring"))
    assert not tool.state.joinpath("current").exists()
    assert controller.request("GET", path(1, "status")) == {"on": False}


@pytest.mark.parametrize(
    ("fields", "flow"),
    [
        (FIVE_TUPLE, "ipv4_src=10.0.0.1,ipv4_dst=10.0.0.2,ip_proto=6,tp_src=1,tp_dst=2"),
        ("eth_src,ip_dscp", "eth_src=02:00:00:00:00:01"),
        ("ipv6_dst/48,icmp_type,icmp_code", "ipv6_dst=fd00:1:2:3::4,icmp_type=128,icmp_code=0"),
        ("vlan_vid,vlan_pcp,eth_type", "vlan_vid=4103,eth_type=0x800"),
        ("nsh_spi,nsh_si,tunnel_id", "nsh_spi=7,nsh_si=255"),
    ],
)
def test_the_tool_reads_flows_as_the_controller_does(net: Network, fields: str, flow: str) -> None:
    controller, tool = net.controller, net.agents[1].tool
    turn_on(controller, 1, fields=fields)
    tool("add", flow)
    again = controller.request("POST", path(1, "entries/add"), {"flows": [flow]})
    assert again == {"done": 0, "unchanged": 1, "no_room": 0}
    [shown], [found] = tool.entries, entries(controller, 1)
    assert found["flow"] == shown["flow"]
    assert found["added"]
    gone = controller.request("POST", path(1, "entries/remove"), {"flows": [found["flow"]]})
    assert (gone["done"], tool.entries) == (1, [])


def test_entries_that_are_added_removed_and_pruned(net: Network) -> None:
    controller = net.controller
    turn_on(controller, 1, fields="tp_dst", capacity=3, ratio=0)
    flows = [{"tp_dst": port} for port in (53, 54, 55, 56)]
    found = controller.request("POST", path(1, "entries/add"), {"flows": flows})
    assert found == {"done": 3, "unchanged": 0, "no_room": 1}
    net.send(frames(4, 10, 20))
    assert {e["flow"]["tp_dst"]: e["packets"] for e in entries(controller, 1)} == {
        53: 20,
        54: 0,
        55: 0,
    }
    found = controller.request(
        "POST", path(1, "entries/remove"), {"flows": ["tp_dst=54", "tp_dst=9"]}
    )
    assert found == {"done": 1, "unchanged": 1, "no_room": 0}

    controller.request("PUT", path(1, "table"), {"fields": FIVE_TUPLE, "secret": HASH_KEY})
    net.send(frames(4, 200, 200))
    controller.request("PUT", path(1, "sampling-ratio"), {"ratio": 0.5})
    before = len(entries(controller, 1))
    removed = controller.request("POST", path(1, "entries/prune"))["removed"]
    assert (before, len(entries(controller, 1))) == (200, 200 - removed)
    assert 50 < removed < 150


# --- notifications ---


def test_one_notification_per_crossing(net: Network) -> None:
    controller = net.controller
    seen = max((each["number"] for each in controller.request("GET", "/notifications")), default=0)

    def come() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = controller.request("GET", f"/notifications?after={seen}")
        return found

    turn_on(controller, 1, threshold=100, ratio=1)
    net.send(frames(5, 300, 2000))
    assert eventually(lambda: len(come()) == 1)
    [first] = come()
    assert (first["switch"], first["entries"], first["threshold"]) == (f"{1:016x}", 101, 100)
    # No further one is under way: the agent answers after it has sent what there was.
    controller.request("GET", path(1, "status"))
    assert len(come()) == 1
    assert net.agents[1].tool.status["notifications"] == 1


# --- restarts ---


def _kill(net: Network, restart: Callable[[], None]) -> None:
    """Counts go on meanwhile, and calls afterwards."""
    turn_on(net.controller, 1)
    net.send(frames(6, 50, 100))
    restart()
    net.controller.await_switches(1, 2)
    found = entries(net.controller, 1)
    assert sum(each["packets"] for each in found) == 200
    net.controller.request("PUT", path(1, "limit"), {"limit": 77})
    assert net.agents[1].tool.status["limit"] == 77


@pytest.mark.exhaustive
def test_an_agent_that_is_killed(net: Network) -> None:
    def restart() -> None:
        net.agents[1].signal(9)
        net.controller.await_switches(2)
        status, error = net.controller.refused("GET", path(1, "status"))
        assert (status, "no switch with this ID" in error) == (404, True)
        net.send(frames(6, 50, 100))  # the switch forwards, the kernel counts
        net.agents[1].start()

    _kill(net, restart)


def test_a_controller_that_is_killed(net: Network) -> None:
    def restart() -> None:
        net.controller.end(9)
        net.send(frames(6, 50, 100))
        net.controller.start()

    _kill(net, restart)


@pytest.mark.exhaustive
def test_a_switch_without_agent(net: Network) -> None:
    """Open vSwitch answers by itself."""
    controller, name = net.controller, f"{2:016x}"

    def problem() -> str:
        return controller.request("GET", "/switches").get(name, {}).get("problem") or ""

    net.connect(2, controller.openflow)
    assert eventually(lambda: "it has no agent" in problem())
    status, error = controller.refused("GET", path(2, "status"))
    assert (status, "it has no agent" in error) == (409, True)
    net.connect(2)
    controller.await_switches(1, 2)


def test_agents_that_connect_after_strangers(net: Network) -> None:
    """Their switches are listed, and answer."""
    with inside(net.controller.namespace):
        for stage in ("hello", "features"):
            for data in sent_by_strangers(4, stage, 2)[::10]:
                send(net.controller.openflow, data)
    for agent in net.agents.values():
        agent.signal(9)
    net.controller.await_switches()
    for agent in net.agents.values():
        agent.start()
    net.controller.await_switches(1, 2)
    turn_on(net.controller, 1)
    net.send(frames(8, 20, 50))
    assert sum(each["packets"] for each in entries(net.controller, 1)) == 50


# --- beside another application of os-ken ---


@pytest.mark.exhaustive
def test_beside_another_application(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It forwards, and uses the paper's calls; its events come."""
    log = tmp_path / "log"
    monkeypatch.setenv("SDNMON_OTHER_APP", str(log))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    app = "support.sdnmon.other_app"

    def said(kind: str, switch: int = 1) -> list[dict[str, Any]]:
        lines = log.read_text().splitlines() if log.exists() else []
        return [e for e in map(json.loads, lines) if (e["event"], e["switch"]) == (kind, switch)]

    def begun() -> bool:
        return all((said("refused"), said("forwards", 1), said("forwards", 2)))

    with network(tmp_path, "--app", app, forward=False) as net:
        assert eventually(begun)
        assert said("refused") == [{"event": "refused", "switch": 1, "reason": "ON"}]
        assert said("monitoring") == [
            {"event": "monitoring", "switch": 1, "entries": 1, "threshold": 3}
        ]
        net.send(frames(7, 2, 10))
        assert not said("overflow")
        extra = bytes(Ether() / IP(src="10.0.0.1") / UDP(sport=1, dport=99))
        net.send([extra])
        assert eventually(lambda: bool(said("overflow")))
        assert [each["entries"] for each in said("overflow")] == [4]
        net.agents[1].signal(9)
        assert eventually(lambda: [each["there"] for each in said("switch")] == [True, False])
        assert net.controller.end() == (0, "")
