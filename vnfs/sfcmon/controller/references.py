"""What resources must be to each other. A state in which they are not is not taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sfcperf.counts import count_text
from sfcperf.vnfs.sfcmon.bmv2.programs import Program
from sfcperf.vnfs.sfcmon.controller.directions import Direction, directions
from sfcperf.vnfs.sfcmon.controller.entries import ROOM, entries, match_key
from sfcperf.vnfs.sfcmon.controller.model import Path, Rule, State
from sfcperf.vnfs.sfcmon.controller.ports import Kind
from sfcperf.vnfs.sfcmon.controller.topology import Topology

MOST_LOOKUPS = 62
"""Most lookups of a packet on its path: each decrements the TTL, which is 63 at first and must not
become 0."""
_SHOWN = 20
"""Most names in a message."""


@dataclass(frozen=True)
class Problem:
    """What is wrong, where, and what is allowed."""

    where: str
    """JSON pointer into the state: `/paths/10/hops/0`."""
    message: str
    allowed: str | None = None

    @property
    def resource(self) -> tuple[str, str]:
        """Collection and name of the resource in which it is."""
        _, collection, name, *_ = self.where.split("/")
        return collection, name


def problems(state: State) -> list[Problem]:
    """Return all that is wrong; empty if the state can be taken."""
    # Later checks follow references, so they are made only if these are right.
    return (
        list(_missing(state))
        or [*_ports(state), *_addresses(state), *_links(state), *_monitoring(state)]
        or [*_paths(state), *_spis(state)]
        or [*_lookups(state), *_proxies(state), *_rules(state)]
        or list(_room(state))
    )


# --- references ---


def _missing(state: State) -> Iterator[Problem]:
    """Yield a problem for each reference to what is not there."""
    for where, collection, name in _references(state):
        known = getattr(state, collection)
        if name not in known:
            member = _SINGULAR[collection]
            yield Problem(where, f"there is no {member} {name!r}", allowed=_listed(known))


_SINGULAR = {
    "switches": "switch",
    "functions": "function",
    "endpoints": "endpoint",
    "chains": "chain",
}


def _references(state: State) -> Iterator[tuple[str, str, str]]:
    """Yield JSON pointer, collection and name of each reference."""
    for name, function in state.functions.items():
        yield f"/functions/{name}/switch", "switches", function.switch
    for name, endpoint in state.endpoints.items():
        yield f"/endpoints/{name}/switch", "switches", endpoint.switch
    for name, link in state.links.items():
        for number, place in enumerate(link.ends):
            yield f"/links/{name}/ends/{number}/switch", "switches", place.switch
    for spi, path in state.paths.items():
        yield f"/paths/{spi}/chain", "chains", path.chain
        yield f"/paths/{spi}/source", "endpoints", path.source
        yield f"/paths/{spi}/destination", "endpoints", path.destination
        for number, function_name in enumerate(path.hops):
            yield f"/paths/{spi}/hops/{number}", "functions", function_name
    for name, rule in state.rules.items():
        yield f"/rules/{name}/switch", "switches", rule.switch
    for name in state.monitoring:
        yield f"/monitoring/{name}", "switches", name


# --- ports and addresses ---


def _uses(state: State) -> Iterator[tuple[str, str, int, Kind]]:
    """Yield, for all that is attached to a port: its JSON pointer, the switch, the port, and the
    kind that the port must have."""
    kinds = {"nsh": Kind.NSH, "gpe": Kind.UNDERLAY, "plain": Kind.PLAIN}
    for name, endpoint in state.endpoints.items():
        yield f"/endpoints/{name}/port", endpoint.switch, endpoint.port, Kind.ENDPOINT
    for name, function in state.functions.items():
        for field, end in function.attachments.items():
            kind = kinds[function.transport]
            yield f"/functions/{name}/{field}/port", function.switch, end.port, kind
    for name, link in state.links.items():
        for number, place in enumerate(link.ends):
            yield f"/links/{name}/ends/{number}/port", place.switch, place.port, Kind.UNDERLAY


def _ports(state: State) -> Iterator[Problem]:
    """Yield a problem for each port that is of the wrong kind, that its switch does not have, or
    that is taken."""
    used: dict[tuple[str, int], str] = {}
    for where, switch, port, kind in _uses(state):
        known = state.switches[switch].ports
        if port not in kind:
            yield Problem(where, f"port {port} is of another kind", allowed=kind.numbers)
        elif port not in known:
            fitting = [number for number in known if number in kind]
            yield Problem(where, f"switch {switch!r} has no port {port}", allowed=_numbers(fitting))
        elif (other := used.setdefault((switch, port), where)) != where:
            yield Problem(where, f"port {port} of switch {switch!r} is taken: {other}")


def _addresses(state: State) -> Iterator[Problem]:
    """Yield a problem for each value that must be unique and is there twice."""
    places: dict[object, str] = {}
    for where, value in _unique(state):
        if (other := places.setdefault(value, where)) != where:
            yield Problem(where, f"{value[-1]} is taken: {other}")


def _unique(state: State) -> Iterator[tuple[str, tuple[str, object]]]:
    """Yield, for each value that must be unique among those of its kind: its JSON pointer, and
    (kind, value)."""
    for name, switch in state.switches.items():
        yield f"/switches/{name}/mac", ("mac", switch.mac)
        yield f"/switches/{name}/address", ("address", switch.address)
        machine = "" if switch.ssh is None else f" of {switch.ssh.address}, port {switch.ssh.port}"
        device = f"{switch.p4runtime}{machine}, device {switch.device}"
        yield f"/switches/{name}/p4runtime", ("device", device)
    for name, endpoint in state.endpoints.items():
        yield f"/endpoints/{name}/mac", ("mac", endpoint.mac)
    for name, function in state.functions.items():
        for field, end in function.attachments.items():
            if end.address is not None:
                yield f"/functions/{name}/{field}/address", ("address", end.address)


def _links(state: State) -> Iterator[Problem]:
    """Yield a problem for each link from a switch to itself."""
    for name, link in state.links.items():
        if link.ends[0].switch == link.ends[1].switch:
            yield Problem(f"/links/{name}/ends/1/switch", "both ends are at the same switch")


def _monitoring(state: State) -> Iterator[Problem]:
    """Yield a problem for each monitoring of a switch that has no sketches, or whose registers
    cannot be read."""
    for name, monitoring in state.monitoring.items():
        switch, where = state.switches[name], f"/monitoring/{name}"
        if switch.program is not Program.SKETCHES:
            runs = switch.program.value
            yield Problem(
                where,
                f"switch {name!r} runs {runs}, which has no sketches",
                allowed=f"switches that run {Program.SKETCHES.value}",
            )
        elif monitoring.enabled and switch.thrift is None:
            yield Problem(
                where,
                f"switch {name!r} has no Thrift interface, by which its registers are read",
                allowed=f"give it one: /switches/{name}/thrift",
            )


# --- paths ---


def _paths(state: State) -> Iterator[Problem]:
    """Yield problems of paths: functions that do not fit the chain, a destination that is the
    source, an initial SI that is too small."""
    for spi, path in state.paths.items():
        yield from _hops(state, spi, path)
        where = f"/paths/{spi}"
        if path.source == path.destination:
            yield Problem(f"{where}/destination", "it is the source, too")
        if path.initial_si <= len(path.hops):
            yield Problem(
                f"{where}/initial_si",
                f"{path.initial_si} is too small for {count_text(len(path.hops), 'function')}",
                allowed=f"{len(path.hops) + 1} to 255: each function decrements the SI, and "
                "packets with SI 0 are dropped",
            )


def _hops(state: State, spi: int, path: Path) -> Iterator[Problem]:
    """Yield a problem if a path has more or fewer functions than its chain, else one for each
    function of another type."""
    types, where = state.chains[path.chain].types, f"/paths/{spi}/hops"
    if len(types) != len(path.hops):
        yield Problem(
            where,
            f"{count_text(len(path.hops), 'function')}, but chain {path.chain!r} has {len(types)}",
            allowed=" > ".join(types[:_SHOWN]),
        )
        return
    for place, (name, wanted) in enumerate(zip(path.hops, types, strict=True)):
        if (actual := state.functions[name].type) != wanted:
            alike = [each for each, function in state.functions.items() if function.type == wanted]
            yield Problem(
                f"{where}/{place}",
                f"{name!r} is of type {actual!r}, but chain {path.chain!r} has {wanted!r} here",
                allowed=_listed(alike),
            )


def _spis(state: State) -> Iterator[Problem]:
    """Yield a problem for each SPI of a reverse path that another path has."""
    taken = {spi: f"/paths/{spi}" for spi in state.paths}
    for spi, path in state.paths.items():
        where = f"/paths/{spi}/reverse_spi"
        if path.reverse_spi is None:
            continue
        if (other := taken.setdefault(path.reverse_spi, where)) != where:
            yield Problem(where, f"SPI {path.reverse_spi} is taken: {other}")


def _lookups(state: State) -> Iterator[Problem]:
    """Yield problems of paths to switches that links do not reach, and of paths that are too long
    for packets' TTL."""
    topology = Topology(state)
    for direction in directions(state):
        apart = [
            (here, there)
            for here, there in direction.switch_pairs
            if here != there and topology.next(here, there) is None
        ]
        # One problem for each direction is enough.
        for here, there in apart[:1]:
            yield Problem(
                f"/paths/{direction.path}",
                f"no links lead from switch {here!r} to switch {there!r}",
            )
        if direction.lookups > MOST_LOOKUPS:
            yield Problem(
                f"/paths/{direction.path}/hops",
                f"{direction.lookups} lookups by SFFs exceed the TTL of the NSH",
                allowed=f"at most {MOST_LOOKUPS}: one for each function, one for each change of "
                "switch, one for the end",
            )


def _proxies(state: State) -> Iterator[Problem]:
    """Yield a problem for each port by which packets of several paths return from a function behind
    the SFC proxy: the port alone tells their path."""
    users: dict[tuple[str, int], str] = {}
    for direction in directions(state):
        for hop in direction.hops:
            if hop.function.transport != "plain":
                continue
            path = f"/paths/{direction.path}"
            here = f"SPI {direction.spi}, SI {hop.si}"
            port = (hop.function.switch, hop.exit.port)
            if (other := users.setdefault(port, here)) != here:
                yield Problem(
                    path,
                    f"function {hop.name!r} is behind the SFC proxy, and packets of {other} return "
                    f"by its port {hop.exit.port} as well",
                    allowed="one path by each port: use another function, or give this one an "
                    "egress for the reverse path",
                )


# --- rules ---


def _rules(state: State) -> Iterator[Problem]:
    """Yield problems of rules: a port that is no endpoint's, the same match twice, a path that does
    not begin there."""
    by_spi = {direction.spi: direction for direction in directions(state)}
    places: dict[object, str] = {}
    for name, rule in state.rules.items():
        where = f"/rules/{name}"
        known = state.switches[rule.switch].ports
        if rule.port not in Kind.ENDPOINT or rule.port not in known:
            fitting = [number for number in known if number in Kind.ENDPOINT]
            yield Problem(
                f"{where}/port",
                f"switch {rule.switch!r} has no port {rule.port} for an endpoint",
                allowed=_numbers(fitting),
            )
            continue
        key = (rule.switch, rule.port, rule.priority, tuple(match_key(rule.match).items()))
        if (other := places.setdefault(key, where)) != where:
            yield Problem(
                where, f"{other} has the same port and priority and matches the same packets"
            )
        if rule.path is not None:
            yield from _rule_path(state, name, rule, by_spi)


def _rule_path(
    state: State, name: str, rule: Rule, by_spi: dict[int, Direction]
) -> Iterator[Problem]:
    """Yield a problem if the path of a rule does not exist, or does not begin at the rule's port.
    `by_spi`: all directions by their SPI."""
    where = f"/rules/{name}/path"
    assert rule.path is not None
    direction = by_spi.get(rule.path)
    if direction is None:
        yield Problem(where, f"there is no path with SPI {rule.path}", allowed=_numbers(by_spi))
        return
    source = state.endpoints[direction.source]
    if (rule.switch, rule.port) != (source.switch, source.port):
        yield Problem(
            where,
            f"path {rule.path} begins at endpoint {direction.source!r}: switch "
            f"{source.switch!r}, port {source.port}",
        )


def _room(state: State) -> Iterator[Problem]:
    """Yield a problem for each table of a switch that has no room for its entries."""
    for name, wanted in entries(state).items():
        for table, count in Counter(entry.table for entry in wanted).items():
            if count > (most := ROOM.get(table, count)):
                yield Problem(
                    f"/switches/{name}",
                    f"{count} entries do not fit into its table `{table}`",
                    allowed=f"at most {most}",
                )


def _listed(names: Iterable[str]) -> str:
    """Return names in order, as text for `allowed`."""
    return _first(sorted(names))


def _numbers(numbers: Iterable[int]) -> str:
    """Return numbers in order, as text for `allowed`."""
    return _first([str(number) for number in sorted(numbers)])


def _first(words: list[str]) -> str:
    """Return the first words, and how many more there are, as text."""
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return ", ".join(words[:_SHOWN]) + more or "there are none yet"
