"""Control groups: where they can be made, from what kernels of several machines say; v2's files.

The texts have the form that the kernels of these machines give; folders below `tmp_path` stand
for cgroupfs. What the kernel itself does with groups is for tests/integration.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.drivers.local import cgroups
from sfcperf.drivers.local.cgroups import Cgroup, Hierarchies, hierarchies, members
from sfcperf.drivers.local.mountinfo import CgroupMount, cgroup_mounts, own_groups
from sfcperf.errors import DeploymentError, EnvironmentLacks

BARE_V1 = (
    # No init system; v1 for all, v2 mounted beside without controllers.
    """\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct
34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
""",
    "9:name=systemd:/\n4:memory:/api/516aec9b\n3:cpuset:/\n2:cpuacct:/\n1:cpu:/\n0::/\n",
)

DEBIAN_12 = (
    # systemd, v2 alone; a root login over SSH.
    """\
23 29 0:21 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw
29 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro
31 23 0:27 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 \
rw,nsdelegate,memory_recursiveprot
""",
    "0::/user.slice/user-0.slice/session-1.scope\n",
)


DOCKER_V1 = (
    # --privileged; v1's default is the host's cgroup namespace, so that paths are the host's.
    """\
1180 1170 0:65 / /sys rw,nosuid,nodev,noexec,relatime - sysfs sysfs rw
1181 1180 0:66 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs rw,mode=755
1184 1181 0:34 /docker/5dace3de0735 /sys/fs/cgroup/cpu,cpuacct rw,nosuid,nodev,noexec,relatime \
master:16 - cgroup cgroup rw,cpu,cpuacct
1186 1181 0:36 /docker/5dace3de0735 /sys/fs/cgroup/cpuset rw,nosuid,nodev,noexec,relatime \
master:18 - cgroup cgroup rw,cpuset
1189 1181 0:39 /docker/5dace3de0735 /sys/fs/cgroup/memory rw,nosuid,nodev,noexec,relatime \
master:21 - cgroup cgroup rw,memory
""",
    """\
12:cpuset:/docker/5dace3de0735
11:cpu,cpuacct:/docker/5dace3de0735
7:memory:/docker/5dace3de0735
1:name=systemd:/docker/5dace3de0735
0::/system.slice/containerd.service
""",
)

DOCKER_V2 = (
    # --privileged; v2's default is a cgroup namespace of the container's own.
    """\
722 716 0:67 / /sys rw,nosuid,nodev,noexec,relatime - sysfs sysfs rw
723 722 0:27 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime - cgroup2 cgroup \
rw,nsdelegate,memory_recursiveprot
""",
    "0::/\n",
)

NEW_CGROUP_NAMESPACE = (
    # `unshare -C`: the mounts are older than the namespace, and their roots outside of it.
    BARE_V1[0].replace("0:32 /", "0:32 /../.."),
    BARE_V1[1].replace("/api/516aec9b", "/"),
)

OFFERED = "cpuset cpu io memory hugetlb pids rdma misc\n"


@pytest.fixture
def cgroupfs(tmp_path: Path) -> Path:
    folder = tmp_path / "cgroup"
    folder.mkdir()
    return folder


def find(texts: tuple[str, str], cgroupfs: Path, folders: tuple[str, ...] = ()) -> Hierarchies:
    """The hierarchies of a recorded machine whose /sys/fs/cgroup is `cgroupfs`."""
    for folder in folders:
        (cgroupfs / folder).mkdir(parents=True)
    mountinfo, membership = texts
    return hierarchies(mountinfo.replace("/sys/fs/cgroup", str(cgroupfs)), membership)


def fill(group: Path, **files: str) -> None:
    """Give a group on v2 its files: `type` is `cgroup.type`."""
    for name, text in files.items():
        (group / f"cgroup.{name}").write_text(text)


class TestV1:
    def test_below_the_group_of_sfcperf(self, cgroupfs: Path) -> None:
        where = find(BARE_V1, cgroupfs, ("cpuset", "cpuacct", "memory/api/516aec9b"))
        assert where == Hierarchies(
            1,
            {
                "cpuset": cgroupfs / "cpuset",
                "cpuacct": cgroupfs / "cpuacct",
                "memory": cgroupfs / "memory/api/516aec9b",
            },
        )

    def test_a_containers_mount_is_its_own_group_already(self, cgroupfs: Path) -> None:
        folders = ("cpuset", "cpu,cpuacct", "memory")
        where = find(DOCKER_V1, cgroupfs, folders)
        assert list(where.parents.values()) == [cgroupfs / folder for folder in folders]

    @pytest.mark.parametrize(
        ("texts", "folders", "words"),
        [
            (
                NEW_CGROUP_NAMESPACE,
                ("cpuset", "cpuacct", "memory"),
                "no writable mount of memory .* shows /",
            ),
            # A folder that is absent stands for one that cannot be written: root may write all.
            (
                DOCKER_V1,
                ("cpu,cpuacct", "memory"),
                "no writable mount of cpuset .* shows /docker/5dace",
            ),
            (
                ("34 31 0:31 / /c rw - cgroup cgroup rw,cpuset\n", "1:cpuset:/\n"),
                (),
                "no cpuacct, memory on v1, and v2 is not",
            ),
        ],
        ids=["no mount shows it", "not writable", "no controller"],
    )
    def test_what_is_missing_is_named(
        self, cgroupfs: Path, texts: tuple[str, str], folders: tuple[str, ...], words: str
    ) -> None:
        with pytest.raises(EnvironmentLacks, match=words):
            find(texts, cgroupfs, folders)

    def test_only_the_two_levels_of_the_journal_are_made(self, cgroupfs: Path) -> None:
        """What is made above them, nobody would remove."""
        absent = dict.fromkeys(cgroups.CONTROLLERS, cgroupfs / "docker" / "abc")
        with pytest.raises(DeploymentError, match="cannot be created: No such file"):
            Cgroup(Hierarchies(1, absent), "sfcperf-abc123", "fwd-1").create([0], None)
        assert list(cgroupfs.iterdir()) == []


class TestV2:
    def test_the_machines_root_with_systemd(self, cgroupfs: Path) -> None:
        """The root has processes (kernel threads), and no cgroup.type: the rule is not for it."""
        fill(cgroupfs, controllers=OFFERED, subtree_control="cpu memory pids\n", procs="2\n3\n")
        where = find(DEBIAN_12, cgroupfs)
        assert where == Hierarchies(2, dict.fromkeys(cgroups.CONTROLLERS, cgroupfs))

    def test_a_containers_root_has_processes(self, cgroupfs: Path) -> None:
        fill(cgroupfs, controllers=OFFERED, subtree_control="", type="domain\n", procs="1\n17\n")
        with pytest.raises(EnvironmentLacks, match="has processes of its own") as caught:
            find(DOCKER_V2, cgroupfs)
        assert caught.value.hint is not None
        assert f"xargs -rn1 <{cgroupfs}/cgroup.procs" in caught.value.hint
        assert list(cgroupfs.glob("*/")) == []

    @pytest.mark.parametrize("subtree_control", ["", OFFERED])
    def test_a_containers_root_without_processes_or_that_hands_down_already(
        self, cgroupfs: Path, subtree_control: str
    ) -> None:
        procs = "1\n" if subtree_control else ""
        files = {"controllers": OFFERED, "subtree_control": subtree_control, "procs": procs}
        fill(cgroupfs, type="domain\n", **files)
        assert find(DOCKER_V2, cgroupfs).parents["memory"] == cgroupfs

    def test_a_containers_root_that_has_become_threaded(self, cgroupfs: Path) -> None:
        """`echo +cpu` into a root with processes does that."""
        fill(cgroupfs, controllers=OFFERED, subtree_control="cpu\n", type="domain threaded\n")
        with pytest.raises(EnvironmentLacks, match="is 'domain threaded'"):
            find(DOCKER_V2, cgroupfs)

    def test_a_controller_is_not_offered(self, cgroupfs: Path) -> None:
        fill(cgroupfs, controllers="hugetlb\n")
        with pytest.raises(EnvironmentLacks, match="does not offer cpuset, memory;"):
            find(DEBIAN_12, cgroupfs)

    def test_a_read_only_mount(self, cgroupfs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        fill(cgroupfs, controllers=OFFERED, subtree_control=OFFERED)
        monkeypatch.setattr("os.access", lambda path, mode: False)
        with pytest.raises(EnvironmentLacks, match="read-only"):
            find(DOCKER_V2, cgroupfs)

    def test_the_second_mount_will_do(self, cgroupfs: Path) -> None:
        second = cgroupfs / "second"
        second.mkdir()
        fill(second, controllers=OFFERED)
        mounts = DOCKER_V2[0] + f"724 722 0:27 / {second} rw - cgroup2 cgroup rw\n"
        assert find((mounts, "0::/\n"), cgroupfs).parents["memory"] == second


class TestFilesOfV2:
    """Their formats, in folders: a kernel that has controllers on v1 gives v2 none."""

    @pytest.fixture
    def group(self, cgroupfs: Path) -> Iterator[Cgroup]:
        fill(cgroupfs, subtree_control="cpu memory pids\n")
        group = Cgroup(
            Hierarchies(2, dict.fromkeys(cgroups.CONTROLLERS, cgroupfs)), "sfcperf-abc123", "fwd-1"
        )
        for folder in reversed(group.paths):
            folder.mkdir()
        yield group

    def test_limits(self, group: Cgroup, cgroupfs: Path) -> None:
        folder, run = group.paths
        (folder / "memory.swap.max").write_text("max\n")
        group.create([0, 3], 64)
        assert (folder / "cpuset.cpus").read_text() == "0,3"
        assert (folder / "memory.max").read_text() == str(64 * 1024 * 1024)
        assert (folder / "memory.swap.max").read_text() == "0"
        for parent in (cgroupfs, run):
            assert (parent / "cgroup.subtree_control").read_text() == "+cpuset +memory"
        assert group.paths == [
            cgroupfs / "sfcperf-abc123" / "fwd-1",
            cgroupfs / "sfcperf-abc123",
        ]

    def test_what_is_handed_down_already_stays_as_it_is(
        self, group: Cgroup, cgroupfs: Path
    ) -> None:
        """Here by a kernel without swap accounting."""
        fill(cgroupfs, subtree_control=OFFERED)
        group.create([0], None)
        assert (cgroupfs / "cgroup.subtree_control").read_text() == OFFERED
        assert not (group.paths[0] / "memory.max").exists()
        group.create([0], 64)
        assert not (group.paths[0] / "memory.swap.max").exists()

    def test_meters(self, group: Cgroup) -> None:
        """Processes of other PID namespaces are shown as 0, and kill(0) would end the caller's own
        process group."""
        folder = group.paths[0]
        (folder / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1\n")
        (folder / "memory.current").write_text("4096\n")
        (folder / "cgroup.procs").write_text("0\n7\n0\n8\n")
        assert (group.cpu_s(), group.memory_bytes(), group.pids()) == (1.5, 4096, [7, 8])
        assert members(folder / "absent") == []

    @pytest.mark.parametrize(
        ("file", "text", "problems"),
        [
            ("memory.events", "low 0\nhigh 0\nmax 9\noom 0\noom_kill 0\n", []),
            (
                "memory.events",
                "max 9\noom 2\noom_kill 1\noom_group_kill 0\n",
                ["it ran out of memory (memory.events: oom 2, oom_kill 1)"],
            ),
            (
                "memory.max",
                "1048576\n",
                ["memory.max of its control group is 1048576, not 67108864"],
            ),
            ("cpuset.cpus", "0-1\n", ["cpuset.cpus of its control group is 0-1, not 0"]),
            (
                "cgroup.procs",
                "",
                [f"{Path('/proc/self/comm').read_text().strip()} has left its control group"],
            ),
        ],
        ids=["limit-reached", "out-of-memory", "memory", "cpus", "process"],
    )
    def test_what_has_changed_since(
        self, group: Cgroup, file: str, text: str, problems: list[str]
    ) -> None:
        folder = group.paths[0]
        group.create([0], 64)
        (folder / "memory.events").write_text("max 0\noom 0\noom_kill 0\n")
        (folder / "cgroup.procs").write_text(f"{os.getpid()}\n")
        assert group.problems([os.getpid()]) == []
        (folder / file).write_text(text)
        assert group.problems([os.getpid()]) == problems

    def test_a_group_that_was_removed(self, group: Cgroup) -> None:
        group.create([0], 64)
        for file in group.paths[0].iterdir():
            file.unlink()
        group.paths[0].rmdir()
        (problem,) = group.problems()
        assert problem.startswith("its control group is gone: ")

    def test_a_refused_write_names_its_file(self, group: Cgroup) -> None:
        cpus = group.paths[0] / "cpuset.cpus"
        # Opens, and refuses what is written: as the kernel does it.
        cpus.symlink_to("/dev/full")
        with pytest.raises(DeploymentError, match="No space left") as caught:
            group.create([0], None)
        assert caught.value.where == str(cpus)


class TestMountinfo:
    def test_mounts_of_other_kinds_and_of_single_files(self) -> None:
        text = (
            "1 0 8:1 / / rw,noatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"
            "8 5 0:7 /docker/memory.stat /s/stat rw shared:8 - cgroup cgroup rw,memory\n"
            "9 5 0:8 / /s/u rw shared:8 master:2 - cgroup2 none rw\n"
        )
        of_file, unified = cgroup_mounts(text)
        assert of_file.locate("/docker") is None
        assert (unified.version, unified.folder, unified.controllers) == (2, Path("/s/u"), set())

    def test_a_group_in_a_mount(self) -> None:
        """With `..` it is outside of the reader's cgroup namespace."""
        for root, group, relative in (
            *(("/", "/", "."), ("/", "/a/b", "a/b"), ("/a", "/a/b", "b"), ("/a/b", "/a/b", ".")),
            *(("/a/b", "/a/bc", None), ("/a/b", "/a", None), ("/a/b", "/", None)),
            *(("/..", "/", None), ("/", "/../x", None), ("/../x", "/../x/y", "y")),
        ):
            mount = CgroupMount(1, frozenset({"memory"}), PurePosixPath(root), Path("/s/memory"))
            expected = None if relative is None else Path("/s/memory") / relative
            assert mount.locate(group) == expected, (root, group)

    @given(
        st.lists(
            st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1).filter(
                lambda part: part not in (".", "..")
            ),
            min_size=1,
        ).map(lambda parts: "/" + "/".join(parts))
    )
    def test_any_folder_is_read_as_the_kernel_writes_it(self, folder: str) -> None:
        """seq_path() escapes blank, tab, newline and backslash."""
        written = re.sub(r"[ \t\n\\]", lambda match: f"\\{ord(match[0]):03o}", folder)
        line = f"41 31 0:38 {written} {written} rw,relatime - cgroup2 cgroup2 rw\n"
        (mount,) = cgroup_mounts(line)
        assert mount.folder == Path(folder)
        assert mount.locate(f"{folder}/x") == Path(folder) / "x"

    def test_paths_with_colons_belong_to_the_path(self) -> None:
        text = "12:cpu,cpuacct:/a:b/c\n1:name=systemd:/\n0::/z\n"
        assert own_groups(text) == {
            "cpu": "/a:b/c",
            "cpuacct": "/a:b/c",
            "name=systemd": "/",
            "": "/z",
        }
