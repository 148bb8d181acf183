"""Where the cloud keeps its files, and the names and numbers that its parts share."""

from __future__ import annotations

from pathlib import Path

SOURCES = Path(__file__).resolve().parent
TREE = SOURCES.parents[1]
RUN = Path("/run/sfcperf-openstack")
"""Sockets. /run is private to the cloud's namespaces, and short: a socket's path has 107 bytes."""

NODE = "sfcperf-node"
"""The first node, `host` of every agent there; further ones have their number behind it."""
MOST_NODES = 4
REGION = "RegionOne"
PASSWORD = "sfcperf"
"""Of everyone: nothing listens outside of the cloud's own loopback."""
DATABASES = (
    *("keystone", "glance", "placement", "nova_api", "nova_cell0", "nova_cell1"),
    *("neutron", "heat", "tacker"),
)
DATABASE_PORT = 3306

MANAGEMENT_SUBNET = "172.31.250.0/24"
MANAGEMENT_GATEWAY = "172.31.250.1"
EXTERNAL_SUBNET = "172.31.251.0/24"
EXTERNAL_GATEWAY = "172.31.251.1"


def node_name(number: int) -> str:
    """Name of a node, from 1 on: `host` of its agents, and of its hypervisor."""
    return NODE if number == 1 else f"{NODE}{number}"


def underlay_address(number: int) -> str:
    """Address of a node from which its VXLAN tunnels come."""
    return f"172.31.252.{number}"


def control_addresses(number: int) -> tuple[str, str]:
    """Addresses of the first node and of a further one on the wire by which that reaches the
    services."""
    return f"172.31.253.{4 * number + 1}", f"172.31.253.{4 * number + 2}"


class Layout:
    """The folders and files of one cloud below `root` (`build/openstack` of the tree)."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.etc = root / "etc"
        """Configuration, written anew at each start."""
        self.state = root / "state"
        """Databases, images, disks of guests: of this start alone."""
        self.log = root / "log"
        """One file per service, of this start alone."""
        self.pristine = root / "pristine"
        """What a cloud that was just made looks like: later starts begin with it."""
        self.images = root / "images"
        """Guest images as files."""
        self.tacker = root / "tacker"
        """Tacker's virtual environment, over the distribution's libraries."""
        self.clouds = root / "clouds.yaml"
        """The clients' `clouds.yaml`."""
        self.nodes = self.state / "nodes"
        """How many nodes the cloud of this start has."""
        self.keeper = root / "keeper"
        """Names the process that holds the namespaces: its id and its start time."""

    def of_node(self, number: int) -> Path:
        """Folder of the state of a further node."""
        return self.state / f"node{number}"

    def etc_of_node(self, number: int) -> Path:
        """Folder of the configuration of a node."""
        return self.etc if number == 1 else self.etc / f"node{number}"

    @property
    def node_count(self) -> int:
        """How many nodes the cloud of this start has."""
        return int(self.nodes.read_text())
