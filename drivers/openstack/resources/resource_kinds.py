"""Kinds of resources in the journal of the OpenStack driver.

Each resource is found again by its name, which carries the run's tag; `detail` of its journal entry
says which cloud it is in (`cloud`: name in clouds.yaml, null for that of the environment).
"""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """In the order of removal: what uses a resource goes before it."""

    VNFFG = "vnffg"
    VNFFGD = "vnffgd"
    VNF = "vnf"
    VNFD = "vnfd"
    VNF_INSTANCE = "vnf-instance"
    VNF_PACKAGE = "vnf-package"
    VIM = "vim"
    STACK = "stack"
    CHAIN = "port-chain"
    CLASSIFIER = "flow-classifier"
    PAIR_GROUP = "port-pair-group"
    PAIR = "port-pair"
    SERVER = "server"
    FLOATING_IP = "floating-ip"
    ROUTER = "router"
    PORT = "port"
    SUBNET = "subnet"
    NETWORK = "network"
    SECURITY_GROUP = "security-group"
    KEYPAIR = "keypair"
    FLAVOR = "flavor"
    WORKDIR = "workdir"
    """A folder on a machine that the run did not make; `detail` says how to reach it."""
