"""What the workflow says of a run: configuration, specifications of machines and chains."""

from sfcperf.drivers.openstack.model.config import PARAMETERS, Config
from sfcperf.drivers.openstack.model.specs import (
    DATA,
    EGRESS,
    INGRESS,
    MANAGEMENT,
    PREFIX_LENGTH,
    ChainPlan,
    ExistingMachine,
    MachinePlan,
    MachineSpec,
    Names,
)
from sfcperf.drivers.openstack.model.user_data import joined, mime_subtype

__all__ = [
    "DATA",
    "EGRESS",
    "INGRESS",
    "MANAGEMENT",
    "PARAMETERS",
    "PREFIX_LENGTH",
    "ChainPlan",
    "Config",
    "ExistingMachine",
    "MachinePlan",
    "MachineSpec",
    "Names",
    "joined",
    "mime_subtype",
]
