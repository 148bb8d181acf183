"""What scenarios need of a cloud, and whether it has that: before anything is made."""

from sfcperf.drivers.openstack.planning.machine_specs import (
    ScenarioMachines,
    most_machines,
    scenario_machines,
)
from sfcperf.drivers.openstack.planning.quota import check_quota
from sfcperf.drivers.openstack.planning.requirements import requirements
from sfcperf.drivers.openstack.planning.validation import addresses, data_prefix, validate

__all__ = [
    "ScenarioMachines",
    "addresses",
    "check_quota",
    "data_prefix",
    "most_machines",
    "requirements",
    "scenario_machines",
    "validate",
]
