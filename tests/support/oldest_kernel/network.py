"""Networks of namespaces in the machine."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable

from scapy.utils import RawPcapReader

from support.oldest_kernel.machine import Machine

_QUIET = "sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1"
_BRIDGE = """
ip -batch - <<END
netns add sender
netns add vnf
netns add receiver
link add i0 netns vnf type veth peer name s0 netns sender
link add o0 netns vnf type veth peer name r0 netns receiver
END
for space in sender vnf receiver; do ip netns exec $space {quiet}; done
ip -n sender link set s0 up
ip -n receiver link set r0 up
ip -n vnf -batch - <<END
link add b0 type bridge mcast_snooping 0
link set i0 master b0
link set o0 master b0
link set b0 up
link set i0 up
link set o0 up
END
"""
_CHAIN = """
ip -batch - <<END
netns add client
netns add first
netns add second
netns add third
netns add server
link add out netns client type veth peer name in netns first
link add out netns first type veth peer name in netns second
link add out netns second type veth peer name in netns third
link add out netns third type veth peer name in netns server
END
ip -n client -batch - <<END
address add 10.0.1.2/24 dev out
link set out up
route add default via 10.0.1.1
END
ip -n first -batch - <<END
address add 10.0.1.1/24 dev in
address add 10.0.2.1/24 dev out
link set in up
link set out up
route add 10.0.3.0/24 via 10.0.2.2
END
ip -n second -batch - <<END
link add b0 type bridge mcast_snooping 0
link set in master b0
link set out master b0
link set b0 up
link set in up
link set out up
END
ip -n third -batch - <<END
address add 10.0.2.2/24 dev in
address add 10.0.3.1/24 dev out
link set in up
link set out up
route add 10.0.1.0/24 via 10.0.2.1
END
ip -n server -batch - <<END
address add 10.0.3.2/24 dev in
link set in up
route add default via 10.0.3.1
END
for space in first third; do
  ip netns exec $space sysctl -q -w net.ipv4.ip_forward=1
done
ip netns exec client ping -c 1 -W 5 10.0.3.2 >/dev/null
"""
_OFFLOADS_OFF = """
for end in client/out first/in first/out second/in second/out third/in third/out server/in; do
  ip netns exec ${end%/*} ethtool -K ${end#*/} rx off tx off sg off tso off gso off gro off \\
    >/dev/null
done
"""


def bridge(machine: Machine) -> None:
    """sender s0 - i0 [vnf: bridge b0] o0 - r0 receiver, silent but for what is sent."""
    machine.check(_BRIDGE.format(quiet=_QUIET))


def chain(machine: Machine) -> None:
    """client 10.0.1.2 - first (router) - second (bridge) - third (router) - server 10.0.3.2.

    The interfaces of each are `in`, on the client's side, and `out`.
    """
    machine.check(_CHAIN)


def offloads_off(machine: Machine) -> None:
    """From now on everybody in the chain computes and verifies checksums, packet by packet."""
    machine.check(_OFFLOADS_OFF)


class Capture:
    """Frames that arrive on an interface, whole, by tcpdump."""

    def __init__(self, machine: Machine, namespace: str, interface: str) -> None:
        self._machine = machine
        machine.check(
            f"ip netns exec {namespace} tcpdump -i {interface} -Q in -s 0 -U --immediate-mode"
            " -Z root -w /tmp/capture >/tmp/tcpdump 2>&1 & echo $! >/tmp/tcpdump.pid\n"
            "until grep -q listening /tmp/tcpdump; do sleep 0.1; done"
        )

    def stop(self) -> list[bytes]:
        coded = self._machine.check(
            "sleep 0.5; kill $(cat /tmp/tcpdump.pid)\n"
            "until grep -q captured /tmp/tcpdump; do sleep 0.1; done; base64 -w 0 /tmp/capture"
        )
        with RawPcapReader(io.BytesIO(base64.b64decode(coded))) as reader:
            return [frame for frame, _ in reader]


def send(machine: Machine, namespace: str, interface: str, frames: Iterable[bytes]) -> None:
    """Whole frames, one by one."""
    for frame in frames:
        machine.check(
            f"echo {base64.b64encode(frame).decode()} | base64 -d >/tmp/frame\n"
            f"ip netns exec {namespace} socat -t 0 -u OPEN:/tmp/frame INTERFACE:{interface}"
        )


def checksum_errors(machine: Machine, namespace: str) -> int:
    """Packets that the namespace threw away for their checksums, of IP (header), TCP and UDP."""
    said = machine.check(f"ip netns exec {namespace} cat /proc/net/snmp /proc/net/netstat")
    names: dict[str, list[str]] = {}
    errors = 0
    for line in said.splitlines():
        protocol, *values = line.split()
        if protocol not in names:
            names[protocol] = values
            continue
        counters = dict(zip(names[protocol], map(int, values), strict=True))
        errors += counters.get("InCsumErrors", 0) + counters.get("InHdrErrors", 0)
    return errors
