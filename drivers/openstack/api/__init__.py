"""One connection to a cloud: calls with retries, errors in the cloud's own words."""

from sfcperf.drivers.openstack.api.cloud import HOW_TO_CONFIGURE, Cloud
from sfcperf.drivers.openstack.api.errors import (
    CloudError,
    Failure,
    FailureKind,
    cloud_errors,
    json_of,
)
from sfcperf.drivers.openstack.api.parallel import each, outcomes
from sfcperf.drivers.openstack.api.retry import DEFAULT, INTERACTIVE, RetryPolicy
from sfcperf.drivers.openstack.api.tacker_server import TackerServer

__all__ = [
    "DEFAULT",
    "HOW_TO_CONFIGURE",
    "INTERACTIVE",
    "Cloud",
    "CloudError",
    "Failure",
    "FailureKind",
    "RetryPolicy",
    "TackerServer",
    "cloud_errors",
    "each",
    "json_of",
    "outcomes",
]
