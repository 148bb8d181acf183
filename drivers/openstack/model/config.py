"""`infrastructure.config` of the OpenStack driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sfcperf.plugins import array, choice, integer, number, object_schema

LIFECYCLES = ("nova", "tacker")
CHAININGS = ("networking-sfc", "overlay")

_NAME = {"type": "string", "minLength": 1}
PARAMETERS = object_schema(
    {
        "cloud": {
            "description": "Name of the cloud in clouds.yaml. Default: OS_CLOUD, or the other OS_* "
            "variables of the environment.",
            **_NAME,
        },
        "image": {
            "description": "Image of all VMs, name or id. Default: each VNF uses the image of "
            "its descriptor, and each endpoint needs an image in its options.",
            **_NAME,
        },
        "flavor": {
            "description": "Flavor of all VMs, name or id. Default: each VM gets the flavor of "
            "the VNF's descriptor, or the smallest with the requested vCPUs and memory.",
            **_NAME,
        },
        "management_network": {
            "description": "Network through which SFCPerf reaches the VMs by SSH, name or id. "
            "Without it, the run creates one behind `external_network`.",
            **_NAME,
        },
        "external_network": {
            "description": "External network, name or id, from which the client's VM gets a "
            "floating IP; SFCPerf reaches the other VMs through the client. Instead of "
            "`management_network`.",
            **_NAME,
        },
        "dns_servers": array(
            "IPv4 addresses of name servers for the VMs, in the management network that the run "
            "creates behind `external_network`. Default: none.",
            {"type": "string", "format": "ipv4"},
            maxItems=3,
        ),
        "ssh_user": {
            "description": "SSH user of the VMs; a user other than root needs passwordless sudo.",
            "type": "string",
            "pattern": "^[a-z_][a-z0-9_-]{0,31}$",
            "default": "root",
        },
        "lifecycle": choice(
            "Service that creates VNFs and chain: `nova` (with Neutron) or `tacker` (as VNFs and, "
            "where Tacker has it, a VNF forwarding graph).",
            LIFECYCLES,
            default="nova",
        ),
        "chaining": choice(
            "What chains the VMs: `networking-sfc`, in the cloud's switches (needs Neutron with "
            "Open vSwitch agents and networking-sfc), or `overlay`, an SFF of SFCPerf in each VM, "
            "over VXLAN-GPE (needs only UDP port 4790 between VMs).",
            CHAININGS,
            default="networking-sfc",
        ),
        "telemetry_cloud": {
            "description": "Name in clouds.yaml of a user who may read diagnostics for the monitor "
            "`diagnostics`, if the user of `cloud` may not. By default, Nova only allows "
            "administrators.",
            **_NAME,
        },
        "hosts": {
            "description": "Node of the topology -> hypervisor (needs the rights of an "
            "administrator). Default: the cloud chooses.",
            "type": "object",
            "additionalProperties": {"type": "string", "minLength": 1},
        },
        "mtu": integer(
            "MTU of the endpoints, bytes of IP packet; the cloud's network must carry packets of "
            "this size.",
            (576, 9000),
            default=1400,
        ),
        "provision": choice(
            "How a VM gets missing tools: `carry` copies them from this machine, `ansible` "
            "installs packages.",
            ("carry", "ansible"),
            default="carry",
        ),
        "boot_timeout_s": number(
            "How long to wait until a VM answers by SSH, seconds.", (10, 3600), default=300
        ),
    }
)


@dataclass(frozen=True)
class Config:
    """The configuration, validated against PARAMETERS, defaults filled in; None where the workflow
    does not say."""

    ssh_user: str
    lifecycle: Literal["nova", "tacker"]
    mtu: int
    provision: Literal["carry", "ansible"]
    boot_timeout_s: float
    chaining: Literal["networking-sfc", "overlay"] = "networking-sfc"
    cloud: str | None = None
    image: str | None = None
    flavor: str | None = None
    management_network: str | None = None
    external_network: str | None = None
    telemetry_cloud: str | None = None
    hosts: Mapping[str, str] = field(default_factory=dict)
    dns_servers: Sequence[str] = ()

    @property
    def overlay(self) -> bool:
        """Whether SFFs in the VMs make the chains, and not the cloud's networking-sfc."""
        return self.chaining == "overlay"
