"""The load balancer's engine `ipvs` on a kernel that has IPVS, in an emulator."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator

import pytest
from support.oldest_kernel import root_filesystem
from support.oldest_kernel.kernel import required
from support.oldest_kernel.machine import Machine

from sfcperf.vnfs.load_balancer import ipvs

CLIENT, SERVER, PORT = "10.0.0.1", "10.0.0.2", 80
BACKENDS = (8081, 8082)
MODULES = ("ip_vs", "ip_vs_rr", "ip_vs_sh")
CONNECTIONS = 12

HOSTS = f"""
for module in veth nf_conntrack {" ".join(MODULES)}; do modprobe $module; done
for host in client lb server; do ip netns add $host; ip -n $host link set lo up; done
ip link add client netns client type veth peer name eth0 netns lb
ip link add server netns server type veth peer name eth1 netns lb
ip -n client link set client address 02:00:00:00:00:01 up
ip -n server link set server address 02:00:00:00:00:02 up
ip -n lb link set eth0 address 02:00:00:00:00:03 up
ip -n lb link set eth1 address 02:00:00:00:00:04 up
join() {{
	ip -n $1 route add $3/32 dev $2 scope link
	ip -n $1 neighbour add $3 lladdr 02:00:00:00:00:0$4 dev $2 nud permanent
}}
ip -n client address add {CLIENT}/32 dev client
ip -n server address add {SERVER}/32 dev server
join client client {SERVER} 3
join server server {CLIENT} 4
join lb eth0 {CLIENT} 1
join lb eth1 {SERVER} 2
for file in all default eth0 eth1; do
	ip netns exec lb sh -c "echo 0 >/proc/sys/net/ipv4/conf/$file/rp_filter"
done
ip netns exec lb sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
ip netns exec lb ip -batch /etc/routes
for port in {" ".join(map(str, BACKENDS))}; do
	ip netns exec server socat TCP-LISTEN:$port,fork,reuseaddr SYSTEM:"echo $port" &
done
until test $(ip netns exec server netstat -ltn | grep -c ':808[12] ') = 2; do sleep 0.1; done
"""


def _connect(first_port: int) -> str:
    """One connection after the other, each from a port that no other had: IPVS remembers those
    that have ended for a while."""
    last_port = first_port + CONNECTIONS - 1
    return f"""
for port in $(seq {first_port} {last_port}); do
	ip netns exec client timeout 5 socat -u TCP:{SERVER}:{PORT},sourceport=$port -
done
"""


pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    kernel = required()
    if shutil.which("ipvsadm", path="/usr/sbin:/usr/bin:/sbin:/bin") is None:
        pytest.skip("ipvsadm is not there: make setup")
    files = {"/etc/routes": ipvs.routes("eth0", SERVER, PORT).encode()}
    for scheduler in ("round-robin", "hash"):
        services = ipvs.services(SERVER, PORT, BACKENDS, scheduler)
        files[f"/etc/{scheduler}"] = services.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(root_filesystem, "TOOLS", (*root_filesystem.TOOLS, "ipvsadm"))
        patch.setattr(root_filesystem, "MODULES", (*root_filesystem.MODULES, *MODULES))
        with Machine(kernel, files=files) as made:
            made.check(HOSTS)
            yield made


@pytest.mark.parametrize(("scheduler", "first_port"), [("round-robin", 20000), ("hash", 30000)])
def test_connections_are_spread_and_counted(
    machine: Machine, scheduler: str, first_port: int
) -> None:
    machine.check(
        f"ip netns exec lb ipvsadm --clear\nip netns exec lb ipvsadm --restore </etc/{scheduler}"
    )
    answered = Counter(machine.check(_connect(first_port), 90).split())
    # The kernel brings what it shows up to date every two seconds.
    listing = machine.check("sleep 5; ip netns exec lb ipvsadm --list --numeric --stats --exact")
    counted = ipvs.counters(listing, BACKENDS)
    assert {f"connections_port{port}": count for port, count in answered.items()} == {
        name: count for name, count in counted.items() if name != "balanced" and count
    }
    assert sum(answered.values()) == CONNECTIONS
    if scheduler == "round-robin":
        assert set(answered.values()) == {CONNECTIONS // len(BACKENDS)}
    # Each connection is three packets and more, both ways.
    assert counted["balanced"] >= 6 * CONNECTIONS


def test_what_is_not_balanced_is_forwarded(machine: Machine) -> None:
    said = machine.check(f"ip netns exec client ping -c 2 -W 2 {SERVER}")
    assert "2 packets received" in said


def test_it_is_taken_away(machine: Machine) -> None:
    rules = [f"ip -n lb rule delete {' '.join(rule)}" for rule in ipvs.route_rules("eth0", PORT)]
    services = [
        f"ip netns exec lb ipvsadm --delete-service {flag} {SERVER}:{PORT}" for flag in ipvs.FLAGS
    ]
    machine.check("\n".join([*services, *rules]))
    machine.check(f"ip -n lb route flush table {ipvs.ROUTE_TABLE}")
    assert ipvs.ROUTE_TABLE not in machine.check("ip -n lb rule")
    assert SERVER not in machine.check("ip netns exec lb ipvsadm --list --numeric")
