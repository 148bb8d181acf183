"""The controller's resources. Each is checked by itself here, and with others in `references`.

The REST interface takes and gives them as JSON. Unknown fields are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_network
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)

from sfcperf.vnfs.sfcmon.bmv2.programs import Program
from sfcperf.vnfs.sfcmon.bmv2.registers import THRIFT_PORT
from sfcperf.vnfs.sfcmon.controller import ports

MOST_SI = 255
_UINT32 = (1 << 32) - 1
_UINT24 = (1 << 24) - 1
_MULTICAST = 0x01
_GRPC_ADDRESS = (
    r"^(unix:/[!-~]{1,102}|(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9.-]{1,253}):[1-9][0-9]{0,4})$"
)
_LOOPBACK = ("127.0.0.1", "localhost")
_DIGITS = "(0|[1-9][0-9]{0,8})"
_KEY = WithJsonSchema({"type": "string", "pattern": f"^{_DIGITS}$"})


def _number(key: object) -> object:
    """Return the number that a key of a JSON object, which is text, stands for. All else is
    returned as it is, for the next check."""
    return int(key) if isinstance(key, str) and re.fullmatch(_DIGITS, key) else key


def _text(value: object) -> str:
    """Return a string and refuse all else, since classes of ipaddress also take integers and
    bytes."""
    if not isinstance(value, str):
        raise ValueError("a string is needed")
    return value


def _unicast(mac: str) -> str:
    """Return a MAC address in lower case. Refuse one that no interface has."""
    mac = mac.lower()
    if int(mac[:2], 16) & _MULTICAST:
        raise ValueError("this is a multicast address; a unicast one is needed")
    if mac == "00:00:00:00:00:00":
        raise ValueError("this is no address of an interface")
    return mac


def _network(value: object) -> object:
    """Return the prefix of a text; one that was parsed already is returned as it is."""
    if isinstance(value, IPv4Network | IPv6Network):
        return value
    if "%" in (text := _text(value)):
        raise ValueError("a prefix has no zone")
    return ip_network(text)


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")]
"""Of a resource: letters, digits, `_`, `.`, `-`; up to 63."""
File = Annotated[str, Field(pattern=r"^/[^\x00]{1,4000}$")]
"""Absolute path."""
Spi = Annotated[int, Field(strict=True, ge=1, le=_UINT24)]
SpiKey = Annotated[Spi, BeforeValidator(_number), _KEY]
Si = Annotated[int, Field(strict=True, ge=1, le=MOST_SI)]
PortNumber = Annotated[int, Field(strict=True, ge=0, le=ports.MOST)]
PortKey = Annotated[PortNumber, BeforeValidator(_number), _KEY]
Mtu = Annotated[int, Field(strict=True, ge=68, le=65535)]
"""Bytes of IP packet (without the Ethernet header)."""
Mac = Annotated[
    str,
    Field(pattern=r"^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$"),
    AfterValidator(_unicast),
]
Address = Annotated[
    IPv4Address,
    BeforeValidator(lambda value: value if isinstance(value, IPv4Address) else _text(value)),
]
Prefix = Annotated[
    IPv4Network | IPv6Network,
    BeforeValidator(_network),
    PlainSerializer(str),
    WithJsonSchema({"type": "string", "examples": ["198.18.0.0/24", "2001:db8::/32"]}),
]


class Resource(BaseModel):
    """What all have in common."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class ThriftAddress(Resource):
    """Where a switch's Thrift interface is, by which its registers are read."""

    namespace: File | None = None
    """File of the network namespace in which it runs (`/run/netns/NAME`); null: the controller's
    own. Not with `ssh`."""
    port: int = Field(default=THRIFT_PORT, strict=True, ge=1, le=65535)


class SshLogin(Resource):
    """How the machine of a switch is reached by SSH."""

    address: Annotated[str, Field(pattern=r"^[0-9A-Za-z.:-]{1,253}$")]
    """Address or name of the machine."""
    port: int = Field(default=22, strict=True, ge=1, le=65535)
    user: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_-]{0,31}$")] = "root"
    host_key: Annotated[str, Field(pattern=r"^[a-z0-9@.-]{1,60} [A-Za-z0-9+/=]{1,2000}$")]
    """Public host key of the machine, `ssh-ed25519 AAAA...`. A machine that shows another one is
    not used."""
    key_file: File
    """File with the controller's private key, without a passphrase."""


class Switch(Resource):
    """A bmv2 switch: classifier, SFCMon and SFF of a node."""

    p4runtime: Annotated[str, Field(pattern=_GRPC_ADDRESS)]
    """Where P4Runtime listens: `unix:/path/of/a/socket`, or `host:port` of the loopback interface.
    With `ssh`, `127.0.0.1:port` of the switch's machine."""
    ssh: SshLogin | None = None
    """How to reach the machine on which the switch runs; null: it is the controller's own."""
    device: int = Field(default=1, strict=True, ge=1, le=(1 << 32) - 1)
    """P4Runtime's device_id."""
    thrift: ThriftAddress | None = None
    """null: the switch is not monitored."""
    program: Program = Program.SKETCHES
    mac: Mac
    """Of the node: towards SFs and other switches."""
    address: Address
    """Of the node in the underlay."""
    ports: dict[PortKey, Mtu]
    """Number -> MTU, bytes. The number says of what kind a port is."""

    @model_validator(mode="after")
    def _only_through_ssh(self) -> Switch:
        """Refuse places that are reached through no SSH, or cannot be reached through it."""
        host = self.p4runtime.rpartition(":")[0]
        if self.ssh is None:
            if host not in (*_LOOPBACK, "[::1]") and not self.p4runtime.startswith("unix:"):
                raise ValueError(
                    "p4runtime: connections to other machines would have neither password nor "
                    "encryption; say in `ssh` how the switch's machine is reached, and let "
                    "P4Runtime listen at 127.0.0.1 there"
                )
            return self
        if host not in _LOOPBACK:
            raise ValueError("p4runtime: with `ssh`, a port of the loopback interface: 127.0.0.1:N")
        if self.thrift is not None and self.thrift.namespace is not None:
            raise ValueError("thrift: with `ssh`, it cannot be in a network namespace")
        return self


def port_of(address: str) -> int:
    """Return the port of an address `host:port`."""
    return int(address.rpartition(":")[2])


class Attachment(Resource):
    """How an SF is attached to its switch."""

    port: PortNumber
    mac: Mac
    """Of the SF's interface."""
    address: Address | None = None
    """Of the SF's interface, with the transport `gpe`."""


class Function(Resource):
    """An SF instance."""

    type: Name
    """SF type, as chains name it."""
    switch: Name
    transport: Literal["nsh", "gpe", "plain"]
    """NSH over Ethernet, NSH over VXLAN-GPE, or no NSH (behind the SFC proxy)."""
    ingress: Attachment
    """Where packets of a path reach it; those of the reverse path leave it there."""
    egress: Attachment | None = None
    """Where packets of a path leave it; null: where they reached it."""

    @property
    def attachments(self) -> Mapping[str, Attachment]:
        """Those that there are, by the name of their field."""
        ends = {"ingress": self.ingress, "egress": self.egress}
        return {name: end for name, end in ends.items() if end is not None}

    @model_validator(mode="after")
    def _addresses_for_gpe(self) -> Function:
        """Refuse an attachment that has no address with `gpe`, or has one otherwise."""
        for name, end in self.attachments.items():
            if (end.address is not None) != (self.transport == "gpe"):
                verb = "needs" if self.transport == "gpe" else "has no"
                raise ValueError(f"{name}: the transport {self.transport} {verb} `address`")
        return self


class Endpoint(Resource):
    """A source and destination of traffic."""

    switch: Name
    port: PortNumber
    mac: Mac


class LinkEnd(Resource):
    """An end of a link."""

    switch: Name
    port: PortNumber


class Link(Resource):
    """A connection of two switches, which speak VXLAN-GPE over it."""

    ends: tuple[LinkEnd, LinkEnd]


class Chain(Resource):
    """An SFC: which types of SFs packets must cross, in order."""

    types: Annotated[tuple[Name, ...], Field(min_length=1, max_length=MOST_SI - 1)]


class Path(Resource):
    """An SFP: which instances of SFs packets of a chain cross. Its SPI is its name."""

    chain: Name
    hops: Annotated[tuple[Name, ...], Field(min_length=1, max_length=MOST_SI - 1)]
    """Names of functions, in order."""
    source: Name
    """Endpoint where it begins: rules there send packets into it."""
    destination: Name
    """Endpoint where it ends."""
    initial_si: Si = MOST_SI
    reverse_spi: Spi | None = None
    """SPI of the path by which replies cross the same SFs in reverse order; null: there is none."""


class PortRange(Resource):
    """Ports of a transport protocol, both included. Packets without ports have port 0."""

    first: int = Field(strict=True, ge=0, le=65535)
    last: int = Field(strict=True, ge=0, le=65535)

    @model_validator(mode="after")
    def _in_order(self) -> PortRange:
        if self.first > self.last:
            raise ValueError(f"first ({self.first}) is more than last ({self.last})")
        return self


class Match(Resource):
    """Which IP packets a rule is for; a field that is null matches all."""

    version: Literal[4, 6] | None = None
    protocol: int | None = Field(default=None, strict=True, ge=0, le=255)
    source: Prefix | None = None
    destination: Prefix | None = None
    source_port: PortRange | None = None
    destination_port: PortRange | None = None

    @model_validator(mode="after")
    def _one_version(self) -> Match:
        if len(self.versions) > 1:
            raise ValueError("version, source and destination are of different versions of IP")
        return self

    @property
    def versions(self) -> set[int]:
        """Versions of IP that the fields name."""
        named = {each.version for each in (self.source, self.destination) if each is not None}
        return named | ({self.version} if self.version is not None else set())


class Rule(Resource):
    """A rule of the classifier: what becomes of packets that come in at an endpoint."""

    switch: Name
    port: PortNumber
    priority: int = Field(strict=True, ge=1, le=(1 << 31) - 1)
    """The matching rule with the highest priority is taken; which one of several with the same is
    not defined."""
    match: Match = Match()
    path: Spi | None
    """SPI of the path (or reverse path) they enter; null: they bypass the chains."""


class Thresholds(Resource):
    """When a packet belongs to a heavy hitter (docs/reference/sfcmon.md)."""

    eval_packets: int = Field(default=1000, strict=True, ge=0, le=_UINT32)
    """Packets of a window before which nothing is listed."""
    share: Annotated[float, Field(ge=0, lt=1, strict=True, allow_inf_nan=False)] = 0.001
    """Least share of the packets of the window so far."""
    packets: int = Field(default=0, strict=True, ge=0, le=_UINT32)
    """Least number of packets."""


class Sizes(Resource):
    """Of the sketches; the numbers of hash functions are fixed in the program."""

    cms_columns: int = Field(default=5437, strict=True, ge=1, le=8192)
    bloom_bits: int = Field(default=16384, strict=True, ge=1, le=65536)
    iblt_cells: int = Field(default=300, strict=True, ge=3, le=512)


class Monitoring(Resource):
    """How a switch is monitored. Its name is that of the switch."""

    enabled: Annotated[bool, Field(strict=True)] = True
    """false: windows are not ended; the switch goes on counting in the one that is open."""
    poll_ms: int = Field(default=10, strict=True, ge=1, le=60_000)
    """Period at which the IBLT of the open window is read, so that its flows are known early."""
    window_ms: int = Field(default=1000, strict=True, ge=50, le=3_600_000)
    """Length of a window. Reading and clearing one takes bmv2 some 30 ms."""
    thresholds: Thresholds = Thresholds()
    adaptive_flows: int = Field(default=0, strict=True, ge=0, le=1_000_000)
    """Adapt the thresholds from window to window so that about so many flows are listed; 0: do
    not."""
    sizes: Sizes = Sizes()


class State(Resource):
    """All resources, by name."""

    switches: dict[Name, Switch] = {}
    functions: dict[Name, Function] = {}
    endpoints: dict[Name, Endpoint] = {}
    links: dict[Name, Link] = {}
    chains: dict[Name, Chain] = {}
    paths: dict[SpiKey, Path] = {}
    rules: dict[Name, Rule] = {}
    monitoring: dict[Name, Monitoring] = {}
