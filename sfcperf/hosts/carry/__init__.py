"""Carrying tools to a host that lacks them."""

from sfcperf.hosts.carry.tools import FreeSpace, equip, missing

__all__ = ["FreeSpace", "equip", "missing"]
