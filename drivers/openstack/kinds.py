"""Kinds of resources in the journal of the OpenStack driver, in the order of their removal.

Each is found again by its name, which carries the run's tag; `detail` of every resource says
which cloud it is in (`cloud`: name in clouds.yaml, null for the environment's).
"""

VNFFG, VNFFGD, VNF, VNFD, VIM = "vnffg", "vnffgd", "vnf", "vnfd", "vim"
VNF_INSTANCE, VNF_PACKAGE = "vnf-instance", "vnf-package"
STACK = "stack"
CHAIN, CLASSIFIER, PAIR_GROUP, PAIR = (
    "port-chain",
    "flow-classifier",
    "port-pair-group",
    "port-pair",
)
SERVER = "server"
FLOATING_IP, ROUTER = "floating-ip", "router"
PORT, SUBNET, NETWORK = "port", "subnet", "network"
SECURITY_GROUP, KEYPAIR, FLAVOR = "security-group", "keypair", "flavor"

REMOVAL = (
    *(VNFFG, VNFFGD, VNF, VNFD, VNF_INSTANCE, VNF_PACKAGE, VIM),
    STACK,
    *(CHAIN, CLASSIFIER, PAIR_GROUP, PAIR),
    SERVER,
    *(FLOATING_IP, ROUTER),
    *(PORT, SUBNET, NETWORK),
    *(SECURITY_GROUP, KEYPAIR, FLAVOR),
)

WORKDIR = "workdir"
"""A folder on a machine that the run has not made; `detail` says how it is reached."""
