"""Control groups of this machine's kernel: limits hold, and what is found to be possible is so.

v1 and v2 can both be mounted; a controller is on one of them. Where v2 has neither cpuset nor
memory, another controller stands for them: the kernel's rules are the same for all of its kind.
"""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import string
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfcperf.drivers.local import cgroups
from sfcperf.drivers.local.cgroups import CONTROLLERS, Cgroup, obstacle_on_v2, remove
from sfcperf.drivers.local.mountinfo import cgroup_mounts

pytestmark = pytest.mark.root

DOMAIN_CONTROLLERS = ("memory", "io", "hugetlb", "rdma", "misc")
"""Those that v2 does not give to threads (cgroup-v2.rst, "Threads"), as memory."""


@pytest.fixture
def tag() -> str:
    return "".join(random.choices(string.ascii_lowercase + string.digits, k=6))


@pytest.fixture
def group(tag: str) -> Iterator[Cgroup]:
    made = Cgroup(cgroups.this_machine(), f"sfcperf-{tag}", "fwd-1")
    yield made
    for pid in {pid for folder in made.paths for pid in cgroups.members(folder)}:
        os.kill(pid, signal.SIGKILL)
    for folder in made.paths:
        remove(folder)
        assert not folder.exists()


def joining(script: str, procs: list[Path], *arguments: str) -> list[str]:
    """A command that joins groups, and then runs a script of the shell."""
    join = "".join(f"echo 0 >{file}\n" for file in procs)
    return ["sh", "-ec", f"{join}{script}", "sh", *arguments]


def in_cgroup_namespace(script: str, group: Path, *arguments: str) -> list[str]:
    """A command that runs a script of the shell where `group` is the root of cgroup v2."""
    # The root of a new namespace is the group in which its maker is.
    unshare = 'exec unshare --cgroup --mount sh -ec "$@"'
    return joining(unshare, [group / "cgroup.procs"], script, "sh", *arguments)


class TestLimits:
    def test_cpus_and_meters(self, group: Cgroup) -> None:
        cpu = max(os.sched_getaffinity(0))
        group.create([cpu], 64)
        burn = "for i in $(seq 30000); do :; done; grep Cpus_allowed_list /proc/self/status; cat"
        process = subprocess.Popen(
            joining(burn, group.procs), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline().split() == ["Cpus_allowed_list:", str(cpu)]
        for found in (group.pids(), cgroups.members(group.paths[0])):
            assert process.pid in found
        assert 0 < group.cpu_s() < 10
        assert 0 < group.memory_bytes() <= 64 * 1024 * 1024
        process.stdin.close()
        assert process.wait() == 0
        process.stdout.close()

    def test_memory_is_limited_with_what_could_be_swapped_out(self, group: Cgroup) -> None:
        group.create(sorted(os.sched_getaffinity(0)), 32)
        fill = f"exec {sys.executable} -c 'bytearray(48 << 20)'"
        done = subprocess.run(joining(fill, group.procs), capture_output=True)
        assert done.returncode == -9
        folder = group.folders["memory"]
        swap = {
            folder / "memory.memsw.limit_in_bytes": str(32 << 20),
            folder / "memory.swap.max": "0",
        }
        for file, limit in swap.items():
            assert not file.exists() or file.read_text().strip() == limit


MAKE_IN_BOX = """
import json, sys
from pathlib import Path
from sfcperf.drivers.local import cgroups
where = cgroups.this_machine()
group = cgroups.Cgroup(where, sys.argv[1], "fwd-1")
group.create([int(sys.argv[2])], 64)
print(json.dumps({name: str(folder) for name, folder in group.folders.items()}))
"""


class TestContainerOnV1:
    @pytest.fixture
    def box(self, tag: str) -> Iterator[dict[str, Path]]:
        """Controller -> a container's group, as a container's runtime makes them."""
        where = cgroups.this_machine()
        if where.version != 1:
            pytest.skip("this machine has its controllers on v2")
        box = {name: parent / f"box-{tag}" for name, parent in where.parents.items()}
        for folder in dict.fromkeys(box.values()):
            folder.mkdir()
        for name in ("cpuset.mems", "cpuset.cpus"):
            (box["cpuset"] / name).write_text((box["cpuset"].parent / name).read_text())
        yield box
        for folder in dict.fromkeys(box.values()):
            for group in sorted(folder.rglob("*/"), reverse=True):
                remove(group)
            remove(folder)

    def test_groups_lie_below_the_containers_own(self, tag: str, box: dict[str, Path]) -> None:
        """Its mounts show its own groups alone, and its paths are the host's."""
        mounts = {
            name: mount.folder
            for mount in cgroup_mounts(Path("/proc/self/mountinfo").read_text())
            for name in mount.controllers & set(CONTROLLERS)
        }
        binds = "".join(f"mount --bind {box[name]} {mounts[name]}\n" for name in CONTROLLERS)
        cpu = str(max(os.sched_getaffinity(0)))
        procs = [folder / "cgroup.procs" for folder in dict.fromkeys(box.values())]
        make = [sys.executable, "-c", MAKE_IN_BOX, f"sfcperf-{tag}", cpu]
        done = subprocess.run(
            ["unshare", "--mount", *joining(f'{binds}exec "$@"', procs, *make)],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        inside = {name: Path(folder) for name, folder in json.loads(done.stdout).items()}
        for name in CONTROLLERS:
            assert inside[name] == mounts[name] / f"sfcperf-{tag}" / "fwd-1"
            made = [folder for folder in box[name].rglob("*/") if folder != box[name]]
            assert sorted(made) == [
                box[name] / f"sfcperf-{tag}",
                box[name] / f"sfcperf-{tag}" / "fwd-1",
            ]
        group = box["cpuset"] / f"sfcperf-{tag}" / "fwd-1"
        assert (group / "cpuset.cpus").read_text().strip() == cpu


FIND_IN_BOX = """
import sys
from pathlib import Path
from sfcperf.drivers.local import cgroups
cgroups.CONTROLLERS_V2 = tuple(sys.argv[2].split(","))
obstacle = cgroups.obstacle_on_v2(Path(sys.argv[1]))
print(obstacle.hint.split("in the container: ")[1].split(" (or")[0] if obstacle else "none")
"""


class TestRulesOfV2:
    """What `obstacle_on_v2` says of a group, and what the kernel does with it."""

    @pytest.fixture
    def controllers(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, ...]]:
        """What the root hands down during a test."""
        root = self.root()
        control = root / "cgroup.subtree_control"
        offered = (root / "cgroup.controllers").read_text().split()
        wanted: tuple[str, ...] = cgroups.CONTROLLERS_V2
        stand_in = not set(wanted) <= set(offered)
        if stand_in:
            wanted = tuple(name for name in DOMAIN_CONTROLLERS if name in offered)[:1]
        if not wanted:
            pytest.skip(f"{root} offers no controller to try the rules with")
        monkeypatch.setattr(cgroups, "CONTROLLERS_V2", wanted)
        added = set(wanted) - set(control.read_text().split())
        assert obstacle_on_v2(root) is None
        control.write_text(" ".join(f"+{name}" for name in wanted))
        yield wanted
        # The driver's own stay on, as they do after a run: other tests may be using them now.
        if stand_in:
            control.write_text(" ".join(f"-{name}" for name in added))

    @staticmethod
    def root() -> Path:
        roots = [
            mount.folder
            for mount in cgroup_mounts(Path("/proc/self/mountinfo").read_text())
            if mount.version == 2 and not (mount.folder / "cgroup.type").exists()
        ]
        if not roots:
            pytest.skip("the root of cgroup v2 is not mounted")
        return roots[0]

    @pytest.fixture
    def box(self, controllers: tuple[str, ...], tag: str) -> Iterator[Path]:
        """A group with a process: as a container's root."""
        box = self.root() / f"box-{tag}"
        box.mkdir()
        process = subprocess.Popen(["sleep", "600"])
        (box / "cgroup.procs").write_text(str(process.pid))
        yield box
        process.kill()
        process.wait()
        for group in [*sorted(box.rglob("*/"), reverse=True), box]:
            remove(group)

    @staticmethod
    def refusal(box: Path, controllers: tuple[str, ...]) -> int | None:
        """The kernel's errno when the group is to hand controllers down."""
        try:
            (box / "cgroup.subtree_control").write_text(" ".join(f"+{c}" for c in controllers))
        except OSError as error:
            return error.errno
        return None

    def test_processes_are_in_the_way(self, box: Path, controllers: tuple[str, ...]) -> None:
        obstacle = obstacle_on_v2(box)
        assert obstacle is not None and "has processes of its own" in obstacle.message
        assert self.refusal(box, controllers) == errno.EBUSY
        (box / "init").mkdir()
        for pid in (box / "cgroup.procs").read_text().split():
            (box / "init" / "cgroup.procs").write_text(pid)
        assert obstacle_on_v2(box) is None
        assert self.refusal(box, controllers) is None
        assert obstacle_on_v2(box) is None

    def test_threads_are_in_the_way(self, box: Path, controllers: tuple[str, ...]) -> None:
        (box / "threads").mkdir()
        (box / "threads" / "cgroup.type").write_text("threaded")
        obstacle = obstacle_on_v2(box)
        assert obstacle is not None and "is 'domain threaded'" in obstacle.message
        assert self.refusal(box, controllers) == errno.EOPNOTSUPP

    def test_what_is_not_handed_down_is_not_offered(self, box: Path) -> None:
        (box / "below").mkdir()
        obstacle = obstacle_on_v2(box / "below")
        assert obstacle is not None and "does not offer" in obstacle.message

    def test_the_advice_for_a_container_helps(
        self, box: Path, controllers: tuple[str, ...], tmp_path: Path
    ) -> None:
        """In a cgroup namespace whose root has processes, as that of Docker on v2."""
        find = [sys.executable, "-c", FIND_IN_BOX, str(tmp_path), ",".join(controllers)]
        script = f"""
            mount -t cgroup2 none {tmp_path}
            advice=$("$@")
            echo "$advice"
            sh -c "$advice"
            "$@"
            cat {tmp_path}/cgroup.subtree_control
        """
        done = subprocess.run(
            in_cgroup_namespace(script, box, *find), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        advice, after, handed_down = done.stdout.splitlines()
        assert advice.startswith("mkdir -p ")
        assert after == "none"
        assert set(controllers) <= set(handed_down.split())


class TestContainerOnV2:
    """Its whole way: refused with processes in its root; made, limited and removed without."""

    @pytest.fixture
    def box(self, tag: str) -> Iterator[Path]:
        where = cgroups.this_machine()
        if where.version != 2:
            pytest.skip("this machine has its controllers on v1")
        # Makes the root hand down what a container is offered.
        group = Cgroup(where, f"box-{tag}", "docker")
        group.create(sorted(os.sched_getaffinity(0)), 512)
        box = group.paths[0]
        yield box
        for folder in [*sorted(box.rglob("*/"), reverse=True), box, box.parent]:
            remove(folder)

    def test_processes_in_its_root_are_told_and_moved(self, box: Path, tag: str) -> None:
        cpu = str(max(os.sched_getaffinity(0)))
        root = cgroups.this_machine().parents["memory"]
        make = [sys.executable, "-c", MAKE_IN_BOX, f"sfcperf-{tag}", cpu]
        script = f"""
            umount --lazy {root}
            mount -t cgroup2 none {root}
            "$@" 2>&1 | tail -n 1
            mkdir {root}/init
            xargs -rn1 <{root}/cgroup.procs >{root}/init/cgroup.procs
            "$@"
        """
        done = subprocess.run(
            in_cgroup_namespace(script, box, *make), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        refused, made = done.stdout.splitlines()
        assert "EnvironmentLacks" in refused and "has processes of its own" in refused
        assert set(json.loads(made).values()) == {f"{root}/sfcperf-{tag}/fwd-1"}
        group = box / f"sfcperf-{tag}" / "fwd-1"
        assert (group / "cpuset.cpus").read_text().strip() == cpu
        assert (group / "memory.max").read_text().strip() == str(64 << 20)
