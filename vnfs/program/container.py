"""A program in an image: a container of its files, in the network namespace and control groups in
which its commands run anyway.

crun starts it: no daemon, and no state outside of its folder. A mount namespace of its own holds
what is mounted, so that nothing stays mounted when its processes end, however they do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from sfcperf.environment.tools import tool
from sfcperf.errors import DeploymentError, EnvironmentLacks, InputError, errors_as, system_errors_as
from sfcperf.plugins import Requirement
from sfcperf.vnfs.base import Attachment
from sfcperf.vnfs.program.image import Image, read, this_architecture
from sfcperf.vnfs.program.unpacking import CONFIG, ROOT, unpacked

CAPABILITIES = (
    *("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID"),
    *("SETPCAP", "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW"),
    *("IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT"),
    *("SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD"),
    *("LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG"),
    *("WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE"),
)
"""All capabilities in the order of their numbers (linux/capability.h)."""

_USUAL = (
    *("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP"),
    *("NET_BIND_SERVICE", "NET_RAW", "SYS_CHROOT", "MKNOD", "AUDIT_WRITE", "SETFCAP"),
)
"""Those that Docker gives a container that asks for none."""

_DEVICES = ("net/tun",)
"""Devices of every container beyond those of a runtime. A TUN device needs NET_ADMIN all the
same."""
_OWN_DEVICES = frozenset(
    "console core fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero".split()
)
"""What a container has in /dev of its own."""

# Its writes go to memory, so that they end with it. crun refuses some hybrid hierarchies of control
# groups, although it is to leave them alone, so that it sees none.
_START = (
    'cd "$1" && mount -t tmpfs tmpfs writes && mkdir writes/upper writes/work && '
    "mount -t overlay -o lowerdir=lower,upperdir=writes/upper,workdir=writes/work overlay "
    f"{ROOT} && "
)
_CRUN = "mount -t tmpfs tmpfs /sys/fs/cgroup && exec crun --root state --cgroup-manager=disabled "
_RUN = f"{_START}{_CRUN} run container"
_EXEC = f'cd "$1" && shift && {_CRUN} exec --cwd "$@"'


def requirements(image: Path, name: str) -> list[Requirement]:
    """Require the tools that unpack and run an image, and an image of this machine's architecture.
    `name` is as in `image.read`."""

    def architecture() -> str:
        with errors_as(EnvironmentLacks, InputError):
            found = read(image, name).architecture
        if found != this_architecture():
            raise EnvironmentLacks(
                f"it is for {found}, and this machine is {this_architecture()}",
                hint="build the image for this machine, or use a file that has both",
            )
        return found

    return [
        tool("umoci", "umoci"),
        tool("crun", "crun"),
        tool("unshare", "util-linux"),
        tool("mount", "mount"),
        Requirement.found(f"image {image.name}", architecture),
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
        self._start_folder = "/"
        self.command: tuple[str, ...] = ()
        """What runs, once it is prepared."""

    def prepare(
        self, command: Sequence[str], env: dict[str, str], own_files: Iterable[Path]
    ) -> None:
        """Unpack the image and write the configuration of its container. Without a `command` the
        image's own runs. `env` are variables beyond those of the image, and `own_files` files that
        are to be in the folder in which it starts. Raises DeploymentError, MeasurementError."""
        if self._attachment.cache is None:
            raise DeploymentError(
                "this driver has no place where images are unpacked",
                hint="use the local driver, or give a `command` instead of an `image`",
            )
        file = Path(self._knobs["image"])
        with (
            errors_as(DeploymentError, InputError, where=str(file)),
            system_errors_as(DeploymentError, "the image cannot be unpacked", where=file),
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
        started, as the same user."""
        start = ["unshare", "--mount", "sh", "-c", _EXEC, "sh", str(self._folder)]
        return [*start, self._start_folder, "container", *argv]

    def facts(self) -> dict[str, Any]:
        """Return which image runs."""
        return {} if self._image is None else {"image": self._image.digest}

    def _write_bundle(
        self, unpacked_image: Path, env: dict[str, str], own_files: Iterable[Path]
    ) -> None:
        """Write what crun needs to the container's folder. Raises OSError."""
        config = json.loads((unpacked_image / CONFIG).read_text())
        self._start_folder = config["process"]["cwd"]
        for folder in ("state", "writes", ROOT):
            (self._folder / folder).mkdir(parents=True)
        (self._folder / "lower").symlink_to(unpacked_image / ROOT)
        hosts = self._folder / "hosts"
        hosts.write_text(f"127.0.0.1 localhost {self._attachment.name}\n")
        start = PurePosixPath(self._start_folder)
        mounts = [
            _bound(hosts, "/etc/hosts"),
            *(_bound(path, str(start / path.name)) for path in own_files),
        ]
        self._configure(config, env, mounts)
        (self._folder / CONFIG).write_text(json.dumps(config, indent=1))

    def _configure(
        self, config: dict[str, Any], env: dict[str, str], mounts: list[dict[str, Any]]
    ) -> None:
        """Make of umoci's configuration, which is of the OCI Runtime Specification, that of the
        instance."""
        privileged = self._knobs["privileged"]
        asked = _all_capabilities() if privileged else self._knobs["capabilities"]
        allowed = [f"CAP_{name}" for name in dict.fromkeys([*_USUAL, *asked])]
        ambient = [f"CAP_{name}" for name in asked]
        process = config["process"]
        variables = dict(variable.split("=", 1) for variable in process["env"]) | env
        process["env"] = [f"{name}={text}" for name, text in variables.items()]
        process["args"] = list(self.command)
        process["terminal"] = False
        process["noNewPrivileges"] = False
        process["capabilities"] = {
            **dict.fromkeys(("bounding", "permitted", "effective"), allowed),
            # What was asked for also holds where the image has a user that is not root.
            **dict.fromkeys(("inheritable", "ambient"), ambient),
        }
        # Limits and groups are those in which it is started, as for programs without an image.
        del process["rlimits"]
        config["hostname"] = self._attachment.name
        linux = config["linux"]
        linux["resources"] = {}
        linux["namespaces"] = [each for each in linux["namespaces"] if each["type"] != "network"]
        system = [each for each in config["mounts"] if each["type"] != "cgroup"]
        devices = _all_devices() if privileged else _DEVICES
        if privileged:
            linux["maskedPaths"] = linux["readonlyPaths"] = []
            for each in system:
                each["options"] = [word for word in each.get("options", ()) if word != "ro"]
        paths = [Path("/dev", name) for name in devices]
        mounts = [*mounts, *(_bound(path, str(path)) for path in paths if path.exists())]
        config["mounts"] = [*system, *mounts]


def _bound(source: Path, target: str) -> dict[str, Any]:
    """Mount a file or folder of this machine in a container."""
    return {"source": str(source), "destination": target, "options": ["rbind", "rw"]}


def _all_capabilities() -> Sequence[str]:
    """Return those that this kernel knows."""
    return CAPABILITIES[: int(Path("/proc/sys/kernel/cap_last_cap").read_text()) + 1]


def _all_devices() -> list[str]:
    """Return the names of this machine's devices and folders of devices that a container does not
    have of its own."""
    names = (path.name for path in Path("/dev").iterdir() if not path.is_symlink())
    return sorted(set(names) - _OWN_DEVICES)
