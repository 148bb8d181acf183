"""Which encapsulation a chain uses towards its functions: NSH or MPLS.

With NSH (networking-sfc's `correlation: nsh`), NSH-aware functions get NSH frames, and an SFC proxy
in their VMs gives the others plain IP. With MPLS, all functions get plain IP. SFFs in the VMs
(chaining `overlay`) always use NSH, in VXLAN-GPE between the VMs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.errors import CloudError
from sfcperf.drivers.openstack.api.tacker_server import TackerServer
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.model.specs import Correlation
from sfcperf.errors import EnvironmentLacks, WorkflowError
from sfcperf.vnfs.base import check_encapsulation, function_type
from sfcperf.workflow.model import FunctionSpec, Scenario

NSH_BYTES = 24 + 14
"""Bytes that NSH adds to an IP packet on the wire between switch and function: NSH of MD type 1 and
the inner Ethernet header."""
FIRST_SI = 255
"""SI with which networking-sfc sends packets to the first function of a path, in both
directions."""
PLAIN_IP = 'set "/chain/encapsulation" to "mpls": functions then get plain IP'


def correlation(scenario: Scenario) -> Correlation:
    """Return the encapsulation of a chain. `auto` is NSH if a function of the chain takes NSH, else
    MPLS: functions see the same, plain IP, and all releases of networking-sfc support it."""
    chosen = scenario.chain.encapsulation
    if chosen == "auto":
        return "nsh" if nsh_aware(scenario) else "mpls"
    return "mpls" if chosen == "mpls" else "nsh"


def nsh_aware(scenario: Scenario) -> list[FunctionSpec]:
    """Return the functions of a chain whose types take NSH."""
    return [spec for spec in scenario.chain.functions if function_type(spec).nsh_aware]


def gets_nsh(spec: FunctionSpec, chain: Correlation) -> bool:
    """Whether a function gets NSH frames in a chain with this encapsulation."""
    return chain == "nsh" and function_type(spec).nsh_aware


def describe(scenario: Scenario, config: Config) -> str:
    """Say which encapsulation a chain has, and why."""
    if config.overlay:
        return _describe_overlay(scenario)
    chosen = scenario.chain.encapsulation
    if chosen != "auto":
        return f"{correlation(scenario)}, as requested"
    aware = list(dict.fromkeys(spec.vnf for spec in nsh_aware(scenario)))
    if aware:
        return f"nsh, because functions take it: {', '.join(aware)}"
    return "mpls, because no function takes NSH"


def _describe_overlay(scenario: Scenario) -> str:
    """Say what functions get from the SFFs in their VMs."""
    aware = {spec.vnf for spec in nsh_aware(scenario)}
    plain = {spec.vnf for spec in scenario.chain.functions} - aware
    gets = [
        f"{what} to {', '.join(sorted(names))}"
        for what, names in (("nsh-eth", aware), ("plain IP", plain))
        if names
    ]
    return f"nsh in VXLAN-GPE between VMs (chaining overlay), which becomes {' and '.join(gets)}"


def check(scenario: Scenario, config: Config) -> None:
    """Raises WorkflowError for an encapsulation that the configured chaining does not have, and for
    a function that cannot take what it would get."""
    for spec in scenario.chain.functions:
        if function_type(spec).inline(spec.knobs):
            raise WorkflowError(
                f"{spec.name} leaves frames as they are, and clouds address them to its ports",
                where=f"/vnfs/{spec.vnf}/knobs",
                hint="only the local driver has functions without addresses",
            )
        chain = "nsh" if config.overlay else correlation(scenario)
        check_encapsulation(spec, "nsh-eth" if gets_nsh(spec, chain) else "none")
    if config.overlay:
        if scenario.chain.encapsulation not in ("auto", "nsh-eth"):
            raise WorkflowError(
                "the SFFs in VMs (chaining overlay) reach functions by NSH over Ethernet, not by "
                f"{scenario.chain.encapsulation}",
                where="/chain/encapsulation",
                allowed='"nsh-eth" or "auto"',
                hint="functions that do not take NSH get plain IP from the SFC proxy of their SFF",
            )
        return
    if scenario.chain.encapsulation == "nsh-vxlan-gpe":
        raise WorkflowError(
            "this driver does not support nsh-vxlan-gpe: switches of the cloud reach functions "
            "by Ethernet",
            where="/chain/encapsulation",
            allowed='"nsh-eth" (NSH towards functions that take it), "mpls" (plain IP towards all '
            'functions), or "auto"',
        )
    if correlation(scenario) == "nsh" and scenario.chain.initial_si != FIRST_SI:
        raise WorkflowError(
            f"networking-sfc begins paths with SI {FIRST_SI}",
            where="/chain/initial_si",
            allowed=str(FIRST_SI),
        )
    for spec in scenario.chain.functions:
        if not gets_nsh(spec, correlation(scenario)) and not function_type(spec).takes_plain_ip():
            raise WorkflowError(
                f"a {spec.type} needs NSH, but functions of this chain get plain IP",
                where=f"/vnfs/{spec.vnf}/type",
                hint='set "/chain/encapsulation" to "nsh-eth", or use a type that takes plain IP',
            )


def check_support(cloud: Cloud, config: Config, scenarios: Sequence[Scenario]) -> None:
    """Ask whether the cloud's networking-sfc knows NSH, if a scenario needs it, and whether the
    life cycle can ask for it. Raises EnvironmentLacks.

    The request is for a port pair of two ports that do not exist. Neutron looks at values before it
    looks for ports: it refuses an unknown correlation with status 400, and the ports with 404.
    """
    needing = [each for each in scenarios if correlation(each) == "nsh" and each.chain.functions]
    if not needing:
        return
    if config.lifecycle == "tacker" and TackerServer(cloud).versions().best == "legacy":
        raise EnvironmentLacks(
            "VNF forwarding graphs of Tacker cannot ask for NSH: their template has no word for "
            "it, and networking-sfc does not change the encapsulation of a chain that exists",
            where="/chain/encapsulation",
            hint=f'set "/infrastructure/config/lifecycle" to "nova"; or {PLAIN_IP}',
        )
    network: Any = cloud.connection.network
    absent = {"ingress": str(uuid4()), "egress": str(uuid4())}
    try:
        cloud.call(
            "asking networking-sfc whether it knows NSH",
            lambda: network.create_sfc_port_pair(
                name="sfcperf-question",
                service_function_parameters={"correlation": "nsh"},
                **absent,
            ),
        )
    except CloudError as error:
        if error.status == 404:
            return
        if error.status == 400:
            raise EnvironmentLacks(
                "the cloud's networking-sfc is too old for NSH towards functions",
                where="/chain/encapsulation",
                hint=f"networking-sfc 6 (Queens, 2018) or later is needed; or {PLAIN_IP}",
            ) from error
        raise
