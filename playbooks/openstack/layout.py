"""Where the cloud keeps its files, and the names and numbers that its parts share."""

from __future__ import annotations

from pathlib import Path

SOURCES = Path(__file__).resolve().parent
TREE = SOURCES.parents[1]
RUN = Path("/run/sfcperf-openstack")
"""Sockets. /run is private to the cloud's namespaces, and short: a socket's path has 107 bytes."""

NODE = "sfcperf-node"
"""The one hypervisor, `host` of every agent."""
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
        self.keeper = root / "keeper"
        """Names the process that holds the namespaces: its id and its start time."""
