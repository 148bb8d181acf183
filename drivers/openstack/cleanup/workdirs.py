"""What a run leaves on machines that it has not made: one folder, in the journal like the rest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfcperf.drivers.base import Resource
from sfcperf.drivers.openstack.cleanup.removal import Stuck
from sfcperf.drivers.openstack.planning.endpoint_options import Standing
from sfcperf.drivers.openstack.resources.resource_kinds import Kind
from sfcperf.errors import DeploymentError, EnvironmentLacks, SfcperfError
from sfcperf.hosts.ssh import SshHost
from sfcperf.hosts.ssh_access import SshAccess

STANDING_TIMEOUT_S = 30.0
"""How long it is tried to reach a machine that is said to stand."""
_TIMEOUT_S = 30.0
_FOLDERS = Path("/tmp")


def host_of(standing: Standing, workdir: Path) -> SshHost:
    """The machine as a Host; the first use connects."""
    pinned = (standing.host_key,)
    access = SshAccess(
        standing.address, standing.key_file, pinned, standing.ssh_user, standing.ssh_port
    )
    return SshHost(standing.name, access, workdir)


def check(standing: Standing) -> None:
    """Raises EnvironmentLacks when it is not reached, InputError when its key cannot be read."""
    host = host_of(standing, _FOLDERS)
    try:
        host.wait_reachable(STANDING_TIMEOUT_S, boots=False)
    except DeploymentError as error:
        raise EnvironmentLacks(
            error.message,
            where=f"/endpoints/{standing.name}/options/machine",
            hint=error.hint or "is it switched on, and its address right?",
        ) from error
    finally:
        host.close()


def folder(name: str) -> Path:
    """The run's on such a machine; `name` carries the tag."""
    return _FOLDERS / name


def resource(standing: Standing, workdir: Path) -> Resource:
    """What is written down before the machine is used."""
    detail = {
        "name": standing.name,
        "address": standing.address,
        "ssh_port": standing.ssh_port,
        "ssh_user": standing.ssh_user,
        "host_key": standing.host_key,
        "key_file": str(standing.key_file.absolute()),
    }
    return Resource(Kind.WORKDIR, str(workdir), detail)


def clear(resources: Sequence[Resource], stuck: list[Stuck], *, dry_run: bool) -> list[str]:
    """End what runs there for the run, and remove its folder; gives a line for each. What stays is
    added to `stuck`."""
    lines = []
    for each in resources:
        detail = dict(each.detail or {})
        standing = Standing(
            **{**detail, "key_file": Path(detail["key_file"])}, interface="", port=""
        )
        if dry_run:
            lines.append(f"folder {each.name} of {standing.address}, if it is there")
            continue
        # Working beside it: what a connection has in its workdir goes with the connection.
        host = host_of(standing, Path(each.name).parent)
        try:
            host.run(["rm", "-rf", each.name], timeout_s=_TIMEOUT_S)
            lines.append(f"folder {each.name} of {standing.address}")
        except SfcperfError as error:
            what = f"folder {each.name} of {standing.address}, if it is there"
            hint = "remove it by hand, or try again when the machine can be reached"
            stuck.append(Stuck(what, error.message, hint))
        finally:
            host.close()
    return lines
