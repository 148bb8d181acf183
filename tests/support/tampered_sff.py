"""SFFs that do something else than they were told: what a traversal proof must find."""

from __future__ import annotations

from collections.abc import Callable

from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.drivers.local.layout import Layout
from sfcperf.drivers.local.sff_ebpf import EbpfSff
from sfcperf.drivers.local.sff_openvswitch import OpenVSwitchSff
from sfcperf.management.deployment import Deployment

SPI = 42
"""Of the scenarios of the tests; two SFs with one port each have the ports 110 and 112."""
_LEFT_THE_FIRST = "table=10,packet_type=(1,0x894f),nsh_spi=0x2a,nsh_si=254"


def skip_the_second(driver: LocalDriver, deployment: Deployment) -> None:
    """What left the first SF goes straight to the end of the path."""
    _tamper(
        driver,
        deployment,
        lambda _: [f"{_LEFT_THE_FIRST},actions=decap(),output:2"],
        lambda _: {f"path {SPI} 254 ": f"path {SPI} 254 from 110 to end port 2"},
    )


def begin_with_si_200(driver: LocalDriver, deployment: Deployment) -> None:
    """The classifier sets another SI, with which packets cross the only SF all the same."""

    def flows(layout: Layout) -> list[str]:
        mac = layout.functions[0].ingress.mac
        return [
            "table=0,priority=100,in_port=1,ip,actions=encap(nsh(md_type=1)),"
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

    _tamper(driver, deployment, flows, lines)


def leave_nsh_on(driver: LocalDriver, deployment: Deployment) -> None:
    """The end of the path does not take the NSH off."""

    def lines(layout: Layout) -> dict[str, str]:
        end = f"path {SPI} 254 from 110 to nsh port 2 mac {layout.server.mac}"
        return {f"path {SPI} 254 ": end}

    keep = f"{_LEFT_THE_FIRST},actions=encap(ethernet),output:2"
    _tamper(driver, deployment, lambda _: [keep], lines)


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

    astray = "table=0,priority=200,in_port=2,actions=output:110,output:1"
    _tamper(driver, deployment, lambda _: [astray], lines)


def _tamper(
    driver: LocalDriver,
    deployment: Deployment,
    flows: Callable[[Layout], list[str]],
    lines: Callable[[Layout], dict[str, str]],
) -> None:
    """Add OpenFlow rules, or replace the lines of sfc-sff's tables that begin so."""
    sff = driver._built[deployment.id].sffs["node1"]
    if isinstance(sff, OpenVSwitchSff):
        sff._switch.add_flows("sff", flows(sff.layout))
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
