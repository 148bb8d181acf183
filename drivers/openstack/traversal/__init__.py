"""Proof that packets cross the functions of a chain, by captures on the machines themselves."""

from sfcperf.drivers.openstack.traversal.proof import prove, requirements

__all__ = ["prove", "requirements"]
