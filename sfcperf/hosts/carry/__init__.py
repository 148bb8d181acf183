"""Carrying tools to a host that lacks them."""

from sfcperf.hosts.carry.tools import Room, equip, missing

__all__ = ["Room", "equip", "missing"]
