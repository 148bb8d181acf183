"""SFFs that do something else than they were told: what a traversal proof must find."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.drivers.local.sff import Bmv2Sff, EbpfSff, OpenVSwitchSff
from sfcperf.drivers.sff.layout import Layout
from sfcperf.management.deployment import Deployment
from sfcperf.vnfs.sfcmon.bmv2.programs import Program

SPI = 42
"""Of the scenarios of the tests; two SFs with one port each have the ports 110 and 112."""
Tables = Mapping[tuple[str, tuple[tuple[str, Any], ...], int], tuple[str, dict[str, Any]]]
"""Table, key and priority -> action and parameters. Ports of functions are 128 and 130 on bmv2."""
_LEFT_THE_FIRST = "table=10,packet_type=(1,0x894f),nsh_spi=0x2a,nsh_si=254"


def skip_the_second(driver: LocalDriver, deployment: Deployment) -> None:
    """What left the first SF goes straight to the end of the path."""
    _tamper(
        driver,
        deployment,
        lambda _: [f"{_LEFT_THE_FIRST},actions=decap(),output:2"],
        lambda _: {f"path {SPI} 254 ": f"path {SPI} 254 from 110 to end port 2"},
        lambda _: {_PATH_254: ("end", {"port": 2, "from": 128})},
    )


def begin_with_si_200(driver: LocalDriver, deployment: Deployment) -> None:
    """The classifier sets another SI, with which packets cross the only SF all the same."""

    def flows(layout: Layout) -> list[str]:
        mac = layout.functions[0].ingress.mac
        return [
            "table=0,priority=200,in_port=1,ip,actions=encap(nsh(md_type=1)),"
            "set_field:0x2a->nsh_spi,set_field:200->nsh_si,resubmit(,10)",
            "table=10,packet_type=(1,0x894f),nsh_spi=0x2a,nsh_si=200,"
            f"actions=encap(ethernet),set_field:{mac}->eth_dst,output:110",
            "table=0,priority=95,in_port=110,dl_type=0x894f,nsh_si=199,"
            "actions=decap(),decap(),output:2",
        ]

    def lines(layout: Layout) -> dict[str, str]:
        mac = layout.functions[0].ingress.mac
        return {
            f"path {SPI} 255 ": f"path {SPI} 200 to nsh port 110 mac {mac}",
            f"path {SPI} 254 ": f"path {SPI} 199 from 110 to end port 2",
            "rule 1 ": f"rule 1 path {SPI} 200 version 4",
        }

    def entries(layout: Layout) -> Tables:
        mac = layout.functions[0].ingress.mac
        return {
            _path(SPI, 200): ("to_nsh", {"port": 128, "mac": mac, "from": 0}),
            _path(SPI, 199): ("end", {"port": 2, "from": 128}),
            _rule(1): ("encapsulate", {"spi": SPI, "si": 200}),
        }

    _tamper(driver, deployment, flows, lines, entries)


def leave_nsh_on(driver: LocalDriver, deployment: Deployment) -> None:
    """The end of the path does not take the NSH off."""

    def lines(layout: Layout) -> dict[str, str]:
        end = f"path {SPI} 254 from 110 to nsh port 2 mac {layout.server.mac}"
        return {f"path {SPI} 254 ": end}

    def entries(layout: Layout) -> Tables:
        return {_PATH_254: ("to_nsh", {"port": 2, "mac": layout.server.mac, "from": 128})}

    keep = f"{_LEFT_THE_FIRST},actions=encap(ethernet),output:2"
    _tamper(driver, deployment, lambda _: [keep], lines, entries)


def send_replies_astray(driver: LocalDriver, deployment: Deployment) -> None:
    """Packets that should bypass the chain cross its only SF."""

    def lines(layout: Layout) -> dict[str, str]:
        mac = layout.functions[0].ingress.mac
        added = [
            f"path {SPI} 254 from 110 to end port 2",
            f"path 99 255 to nsh port 110 mac {mac}",
            "path 99 254 from 110 to end port 1",
            "rule 2 path 99 255",
        ]
        return {f"path {SPI} 254 ": "\n".join(added)}

    def entries(layout: Layout) -> Tables:
        mac = layout.functions[0].ingress.mac
        return {
            _path(99, 255): ("to_nsh", {"port": 128, "mac": mac, "from": 2}),
            _path(99, 254): ("end", {"port": 1, "from": 128}),
            _rule(2): ("encapsulate", {"spi": 99, "si": 255}),
        }

    astray = "table=0,priority=200,in_port=2,actions=output:110,output:1"
    _tamper(driver, deployment, lambda _: [astray], lines, entries)


def _tamper(
    driver: LocalDriver,
    deployment: Deployment,
    flows: Callable[[Layout], list[str]],
    lines: Callable[[Layout], dict[str, str]],
    entries: Callable[[Layout], Tables],
) -> None:
    """Add OpenFlow rules, replace the lines of sfc-sff's tables that begin so, or write entries."""
    sff = driver._built[deployment.id].sffs["node1"]
    if isinstance(sff, OpenVSwitchSff):
        sff._switch.add_flows("sff", flows(sff.layout))
        return
    if isinstance(sff, Bmv2Sff):
        asyncio.run(_write(sff, entries(sff.layout)))
        return
    assert isinstance(sff, EbpfSff)
    honest, replaced = sff._tables, lines(sff.layout)

    def tables(*, shown: bool) -> str:
        told = honest(shown=shown).splitlines()
        for beginning, line in replaced.items():
            assert any(known.startswith(beginning) for known in told)
            told = [line if known.startswith(beginning) else known for known in told]
        return "\n".join(told) + "\n"

    sff._tables = tables  # type: ignore[method-assign]
    assert sff._process is not None
    sff._process.change(tables(shown=False))


async def _write(sff: Bmv2Sff, tables: Tables) -> None:
    """As a client that takes the place of the primary one."""
    import finsy

    switch = sff._both._switch
    assert switch is not None
    # The switch keeps the program, and its tables, only if it is asked for the same one.
    p4info, p4blob = Program.PLAIN.p4info, Program.PLAIN.json
    options = finsy.SwitchOptions(p4info=p4info, p4blob=p4blob, initial_election_id=100)
    async with finsy.Switch("tampering", switch.address, options) as client:
        for (table, key, priority), (action, parameters) in tables.items():
            entry = finsy.P4TableEntry(
                table,
                match=finsy.Match(**dict(key)),
                action=finsy.Action(action, **parameters),
                priority=priority,
            )
            there = [each async for each in client.read(replace(entry, action=None))]
            await (client.modify if there else client.insert)([entry])


def _path(spi: int, si: int) -> tuple[str, tuple[tuple[str, Any], ...], int]:
    return "paths", (("spi", spi), ("si", si)), 0


def _rule(port: int) -> tuple[str, tuple[tuple[str, Any], ...], int]:
    """Of IPv4 packets that come from an endpoint, before the driver's own."""
    return "rules", (("port", port), ("version", (4, 255))), 200


_PATH_254 = _path(SPI, 254)
