"""A program in an image: a container of its files, in the network namespace and control groups in
which its commands run anyway.

crun starts it: no daemon, and no state outside of its folder. A mount namespace of its own holds
what is mounted, so that nothing stays mounted when its processes end, however they do.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from sfcperf.environment.tools import tool
from sfcperf.errors import (
    DeploymentError,
    EnvironmentLacks,
    InputError,
    MeasurementError,
    errors_as,
    system_errors_as,
)
from sfcperf.plugins import Requirement
from sfcperf.vnfs.base import Attachment
from sfcperf.vnfs.program.image import Image, read, this_architecture
from sfcperf.vnfs.program.runtime_config import configure, held_capabilities
from sfcperf.vnfs.program.unpacking import CONFIG, ROOT, unpacked

TOOLS = ("umoci", "crun")
"""Programs that unpack and run images."""
# Its writes go to memory, so that they end with it. crun refuses some hybrid hierarchies of control
# groups, although it is to leave them alone, so that it does not see them.
_START = (
    'cd "$1" && mount -t tmpfs tmpfs writes && mkdir writes/upper writes/work && '
    "mount -t overlay -o lowerdir=lower,upperdir=writes/upper,workdir=writes/work overlay "
    f"{ROOT} && "
)
_CRUN = (
    "if test -d /sys/fs/cgroup/unified; then mount -t tmpfs tmpfs /sys/fs/cgroup; fi && "
    "exec crun --root state --cgroup-manager=disabled"
)
_RUN = f"{_START}{_CRUN} run container"
_EXEC = f'cd "$1" && {_CRUN} exec --process "$2" container'


def requirements(knobs: Mapping[str, Any]) -> list[Requirement]:
    """Require the tools that unpack and run an image, that it is of this machine's architecture,
    and the capabilities that it is to have."""
    file = Path(knobs["image"])

    def architecture() -> str:
        with errors_as(EnvironmentLacks, InputError):
            found = read(file, knobs["image_name"]).architecture
        if found != this_architecture():
            raise EnvironmentLacks(
                f"it is for {found}, and this machine is {this_architecture()}",
                hint="build the image for this machine, or use a file that has both",
            )
        return found

    def capabilities() -> str:
        lacking = set(knobs["capabilities"]).difference(held_capabilities())
        if lacking:
            raise EnvironmentLacks(
                f"sfcperf lacks {', '.join(sorted(lacking))} itself",
                hint="run it as root, outside of a container or in one with these capabilities",
            )
        return "sfcperf has them"

    return [
        *(tool(name, name) for name in TOOLS),
        tool("unshare", "util-linux"),
        tool("mount", "mount"),
        Requirement.found(f"image {file.name}", architecture),
        *([Requirement.found("capabilities", capabilities)] if knobs["capabilities"] else ()),
    ]


class Container:
    """The container of one instance. The order of calls is `prepare`, then any others."""

    def __init__(self, folder: Path, attachment: Attachment, knobs: Mapping[str, Any]) -> None:
        """`folder`: for its files; it is made by `prepare`, and the caller removes it when the
        container has ended."""
        self._folder = folder
        self._attachment = attachment
        self._knobs = knobs
        self._image: Image | None = None
        self._process: dict[str, Any] = {}
        self.command: tuple[str, ...] = ()
        """What runs, once it is prepared."""

    def prepare(
        self, command: Sequence[str], env: Mapping[str, str], own_files: Iterable[Path]
    ) -> None:
        """Unpack the image and write the configuration of its container. Without a `command` the
        image's own runs. `env` are variables beyond those of the image, and `own_files` files that
        are to be in the folder in which it starts. Raises DeploymentError."""
        name = self._attachment.name
        if self._attachment.cache is None:
            raise DeploymentError(
                f"{name}: this driver has no place where images are unpacked",
                hint="use the local driver, or give a `command` instead of an `image`",
            )
        file = Path(self._knobs["image"])
        with (
            errors_as(DeploymentError, InputError, MeasurementError, context=name, where=str(file)),
            system_errors_as(MeasurementError, "the image cannot be unpacked", where=None),
        ):
            self._image = read(file, self._knobs["image_name"])
            self.command = (*command,) or self._image.command
            folder = unpacked(self._image, file, self._attachment.cache)
            self._write_bundle(folder, env, own_files)

    def argv(self) -> list[str]:
        """Return the command that starts the container and ends as its program does."""
        return ["unshare", "--mount", "sh", "-c", _RUN, "sh", str(self._folder)]

    def inside(self, argv: Sequence[str]) -> list[str]:
        """Return the command that runs `argv` in the container, in the folder in which it has
        started, as the same user. Raises MeasurementError."""
        words = json.dumps({**self._process, "args": list(argv)})
        file = self._folder / f"{hashlib.sha256(words.encode()).hexdigest()}.json"
        if not file.exists():
            with system_errors_as(MeasurementError, "a command cannot be written", where=file):
                file.write_text(words)
        return ["unshare", "--mount", "sh", "-c", _EXEC, "sh", str(self._folder), file.name]

    def facts(self) -> dict[str, Any]:
        """Return which image runs."""
        return {} if self._image is None else {"image": self._image.digest}

    def _write_bundle(
        self, unpacked_image: Path, env: Mapping[str, str], own_files: Iterable[Path]
    ) -> None:
        """Write what crun needs to the container's folder. Raises OSError."""
        config = json.loads((unpacked_image / CONFIG).read_text())
        self._process = config["process"]
        for folder in ("state", "writes", ROOT):
            (self._folder / folder).mkdir(parents=True)
        (self._folder / "lower").symlink_to(unpacked_image / ROOT)
        hosts = self._folder / "hosts"
        hosts.write_text(f"127.0.0.1 localhost {self._attachment.name}\n")
        start = PurePosixPath(self._process["cwd"])
        configure(
            config,
            name=self._attachment.name,
            command=self.command,
            env=env,
            bound={"/etc/hosts": hosts, **{str(start / path.name): path for path in own_files}},
            knobs=self._knobs,
        )
        (self._folder / CONFIG).write_text(json.dumps(config, indent=1))
