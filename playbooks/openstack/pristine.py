"""A cloud as it was just after it was made: what later starts begin with.

Nothing of a cloud that was stopped, crashed or killed half way is ever used again: each start has
fresh databases with this content, so that there is no state to be mended.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from sfcperf.playbooks.openstack import databases
from sfcperf.playbooks.openstack.layout import SOURCES, Layout

PACKAGES = (
    *("python3-keystone", "python3-glance", "python3-placement", "python3-nova"),
    *("python3-neutron", "python3-networking-sfc", "python3-heat", "mariadb-server-core"),
)
MADE_BY = ("databases.py", "furniture.py", "identity.py", "layout.py", "tacker.sh")
"""Sources on which the content depends."""
FILES = ("keystone", "glance/images", "tacker/vim")
"""Of the state, which go with the databases."""


class Pristine:
    """Copies of the databases and of the files that go with them."""

    def __init__(self, layout: Layout) -> None:
        self._state = layout.state
        self._folder = layout.pristine / _digest()
        self._dump = self._folder / "databases.sql"
        self._mark = layout.state / "complete"

    @property
    def is_there(self) -> bool:
        """Whether a start can begin with it."""
        return self._dump.exists()

    @property
    def is_loaded(self) -> bool:
        """Whether the state of this start has its content."""
        return self._mark.exists()

    def load(self) -> None:
        """Fill the state of this start."""
        databases.load(self._dump)
        for name in FILES:
            _copy(self._folder / name, self._state / name)
        self._mark.touch()

    def save(self) -> None:
        """Keep the state of this start, in the place of all that were kept before."""
        shutil.rmtree(self._folder.parent, ignore_errors=True)
        self._folder.mkdir(parents=True)
        for name in FILES:
            _copy(self._state / name, self._folder / name)
        databases.save(self._dump)
        self._mark.touch()


def _copy(source: Path, target: Path) -> None:
    """With links instead of copies of the data: images are written once."""
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "--archive", "--link", str(source), str(target)], check=True)


def _digest() -> str:
    versions = subprocess.run(
        ["dpkg-query", "--show", *PACKAGES], capture_output=True, check=True
    ).stdout
    sources = b"".join((SOURCES / name).read_bytes() for name in MADE_BY)
    return hashlib.sha256(versions + sources).hexdigest()[:16]
