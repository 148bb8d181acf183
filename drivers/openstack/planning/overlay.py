"""What the chaining `overlay` cannot build."""

from __future__ import annotations

from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.planning.endpoint_options import options_of
from sfcperf.drivers.sff.layout import GPE_OVERHEAD, LARGEST_WIRE_MTU
from sfcperf.drivers.sff.paths import MOST_LOOKUPS
from sfcperf.errors import WorkflowError
from sfcperf.workflow.model import Scenario

MOST_FUNCTIONS = (MOST_LOOKUPS - 1) // 2
"""SFFs look a packet up twice for each function, because each is in a VM of its own, and once at
the end of the path."""


def check(scenario: Scenario, config: Config) -> None:
    """Raises WorkflowError for a life cycle, endpoints, packets or chains that an overlay cannot
    have."""
    if config.lifecycle != "nova":
        raise WorkflowError(
            "Tacker's descriptors give each function a pair of ports, and an SFF in its VM has one",
            where="/infrastructure/config/lifecycle",
            allowed='"nova", or the chaining "networking-sfc"',
        )
    for end in (scenario.client, scenario.server):
        if options_of(end).machine is not None:
            raise WorkflowError(
                f"the {end.name} is an existing machine, which sfcperf does not change, so it can "
                "have no SFF",
                where=f"/endpoints/{end.name}/options/machine",
                hint='leave it out, or set "/infrastructure/config/chaining" to "networking-sfc"',
            )
    if config.mtu + GPE_OVERHEAD > LARGEST_WIRE_MTU:
        raise WorkflowError(
            f"packets of {config.mtu} bytes and {GPE_OVERHEAD} of encapsulation are too large for "
            "the interfaces of an SFF",
            where="/infrastructure/config/mtu",
            allowed=f"at most {LARGEST_WIRE_MTU - GPE_OVERHEAD}",
        )
    if len(scenario.chain.functions) > MOST_FUNCTIONS:
        raise WorkflowError(
            f"a chain of {len(scenario.chain.functions)} functions in VMs of their own needs more "
            "lookups by SFFs than the TTL of the NSH allows",
            where="/chain/functions",
            allowed=f"at most {MOST_FUNCTIONS}",
        )
