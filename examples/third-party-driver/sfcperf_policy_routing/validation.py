"""What this driver cannot build."""

from __future__ import annotations

from sfcperf.drivers.local.cpus import machine_cpus
from sfcperf.errors import EnvironmentLacks, WorkflowError
from sfcperf.vnfs.base import function_type
from sfcperf.workflow.model import Scenario

MAX_FUNCTIONS = 30
"""An IPv4 packet starts with a TTL of 64; each function and the node before it decrement it."""


def validate(scenario: Scenario) -> None:
    """Check that this driver can build the scenario. Raises WorkflowError if it cannot, and
    EnvironmentLacks if this machine has too few CPUs."""
    _check_node(scenario)
    _check_endpoints(scenario)
    _check_chain(scenario)


def _check_node(scenario: Scenario) -> None:
    """Check that all is on one node, and that no node is limited."""
    functions = scenario.chain.functions
    used = {scenario.client.node, scenario.server.node, *(spec.node for spec in functions)}
    if len(used) > 1:
        raise WorkflowError(
            f"this driver has one node, but the scenario uses {', '.join(sorted(used))}",
            where="/topology",
            allowed="everything on one node, as in T1",
        )
    for node in scenario.topology.nodes:
        for key, value in (("vcpus", node.vcpus), ("memory_mib", node.memory_mib)):
            if value is not None:
                raise WorkflowError(
                    "the node is this machine, and its resources cannot be limited",
                    where=f"/topology/nodes/{node.name}/{key}",
                    hint="limit the resources of the VNFs",
                )


def _check_endpoints(scenario: Scenario) -> None:
    """Check that the endpoints have different addresses, and nothing that is not supported."""
    addresses = {scenario.client.address, scenario.server.address}
    if len(addresses) == 1 and None not in addresses:
        raise WorkflowError(
            f"client and server would both have the address {scenario.client.address}",
            where="/endpoints",
        )
    for endpoint in (scenario.client, scenario.server):
        for key, value in (("resources", endpoint.resources), ("options", endpoint.options)):
            if value:
                raise WorkflowError(
                    f"this driver supports no {key} of an endpoint",
                    where=f"/endpoints/{endpoint.name}/{key}",
                    hint="leave them out",
                )


def _check_chain(scenario: Scenario) -> None:
    """Check that the chain is plain IP and short enough, and that its functions can run here."""
    chain = scenario.chain
    if chain.encapsulation != "auto":
        raise WorkflowError(
            f"this driver chains plain IP, without {chain.encapsulation}",
            where="/chain/encapsulation",
            allowed='"auto"',
        )
    if len(chain.functions) > MAX_FUNCTIONS:
        raise WorkflowError(
            f"a chain of {len(chain.functions)} functions uses up the TTL of a packet",
            where="/chain/functions",
            allowed=f"at most {MAX_FUNCTIONS}",
        )
    for spec in chain.functions:
        if not function_type(spec).takes_plain_ip():
            raise WorkflowError(
                f"a {spec.type} works on NSH only, but functions of this driver receive plain IP",
                where=f"/vnfs/{spec.vnf}/type",
            )
        if function_type(spec).inline(spec.knobs):
            raise WorkflowError(
                f"{spec.name} leaves frames as they are, but this driver routes to its address",
                where=f"/vnfs/{spec.vnf}/knobs",
            )
        if spec.resources.vcpus > len(machine_cpus()):
            raise EnvironmentLacks(
                f"{spec.name} needs {spec.resources.vcpus} vCPUs, but this machine has "
                f"{len(machine_cpus())}",
                where=f"/vnfs/{spec.vnf}/resources/vcpus",
            )
