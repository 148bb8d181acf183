"""A chain of one function around an SFF, in the machine."""

from __future__ import annotations

from support.oldest_kernel.machine import Machine

ENDS = {"client": 1, "server": 2, "function": 3}
MACS = {name: f"02:00:00:00:20:{number:02x}" for name, number in ENDS.items()}
TABLES = f"""\
node 02:00:00:00:10:01
port 1 interface p1 kind endpoint mtu 1500 xdp yes
port 2 interface p2 kind endpoint mtu 1500
port 3 interface p3 kind nsh mtu 1500 xdp yes
path 1 255 from 1 to nsh port 3 mac {MACS["function"]}
path 1 254 from 3 to end port 2
path 2 255 from 2 to nsh port 3 mac {MACS["function"]}
path 2 254 from 3 to end port 1
rule 1 path 1 255
rule 2 path 2 255
"""
"""Of sfc-sff."""
_QUIET = "sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1"
_READY_WITHIN_S = 60


def make_network(machine: Machine) -> None:
    """client 10.0.0.1 - [sff: p1 p3 p2] - server 10.0.0.2; the function is behind p3."""
    commands = ["ip netns add sff", f"ip netns exec sff {_QUIET}"]
    for name, number in ENDS.items():
        commands += [
            f"ip netns add {name}",
            f"ip netns exec {name} {_QUIET}",
            f"ip -n {name} link add eth0 mtu 1600 address {MACS[name]} type veth"
            f" peer name p{number} mtu 1600 netns sff",
            f"ip -n {name} link set eth0 up",
            f"ip -n sff link set p{number} up",
        ]
    for name, other in (("client", "server"), ("server", "client")):
        commands += [
            f"ip -n {name} address add 10.0.0.{ENDS[name]}/24 dev eth0",
            f"ip -n {name} neighbour add 10.0.0.{ENDS[other]} lladdr {MACS[other]} dev eth0",
        ]
    machine.check("\n".join([*commands, "ip netns exec client ethtool -K eth0 gro on"]))


def start(machine: Machine, space: str, command: str, name: str) -> None:
    """Run a tool in a namespace until `end`, and wait until it says that it is ready."""
    machine.check(
        f"rm -f /tmp/{name}.out\n"
        f"ip netns exec {space} dash -c 'echo $$ >/tmp/{name}.pid; exec {command}'"
        f" >/tmp/{name}.out 2>&1 &\n"
        f"timeout {_READY_WITHIN_S} dash -c"
        f" 'until grep -q ready /tmp/{name}.out; do sleep 0.1; done'"
        f" || {{ cat /tmp/{name}.out; exit 1; }}"
    )


def start_sff(machine: Machine, tables: str = TABLES) -> None:
    """Start sfc-sff with these tables, by the name `sff`."""
    machine.check(f"cat >/tmp/sff.tables <<'END'\n{tables}END\n")
    start(machine, "sff", "sfc-sff --tables /tmp/sff.tables", "sff")


def end(machine: Machine, name: str, how: str = "TERM") -> str:
    """End a tool by a signal; gives what it has printed."""
    machine.check(
        f"pid=$(cat /tmp/{name}.pid); kill -{how} $pid\nwhile [ -e /proc/$pid/fd ] &&"
        " ! grep -q '^State:.Z' /proc/$pid/status; do sleep 0.1; done; sleep 0.2"
    )
    return machine.check(f"cat /tmp/{name}.out")


def pings(machine: Machine, count: int = 5) -> int:
    """How many of so many packets from client to server were answered."""
    said = machine.run(f"ip netns exec client ping -c {count} -W 3 10.0.0.2").said
    return said.count("bytes from")
