"""Chains of virtual machines on OpenStack, with networking-sfc."""
