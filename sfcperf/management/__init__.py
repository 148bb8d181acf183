"""Management: deployments, in the words of RFC 7665, and their health."""

from sfcperf.management.deployment import (
    Deployment,
    Endpoint,
    Hop,
    HopObservation,
    Meter,
    ServiceFunction,
    TraversalProof,
)

__all__ = [
    "Deployment",
    "Endpoint",
    "Hop",
    "HopObservation",
    "Meter",
    "ServiceFunction",
    "TraversalProof",
]
