"""Where the cloud keeps its files, and the names and numbers that its parts share."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True)
class Layout:
    """The folders of one cloud below `root` (`build/openstack` of the tree)."""

    root: Path

    @property
    def etc(self) -> Path:
        """Configuration, written anew at each start."""
        return self.root / "etc"

    @property
    def state(self) -> Path:
        """Databases, images, disks of guests: of this start alone."""
        return self.root / "state"

    @property
    def log(self) -> Path:
        """One file per service, of this start alone."""
        return self.root / "log"

    @property
    def pristine(self) -> Path:
        """What a cloud that was just made looks like: later starts begin with it."""
        return self.root / "pristine"

    @property
    def images(self) -> Path:
        """Guest images as files."""
        return self.root / "images"

    @property
    def tacker(self) -> Path:
        """Tacker's virtual environment, over the distribution's libraries."""
        return self.root / "tacker"

    @property
    def clouds(self) -> Path:
        """The clients' `clouds.yaml`."""
        return self.root / "clouds.yaml"

    @property
    def keeper(self) -> Path:
        """Names the process that holds the namespaces: its id and its start time."""
        return self.root / "keeper"
