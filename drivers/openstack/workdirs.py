"""What a run leaves on machines that it has not made: one folder, in the journal like the rest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfcperf.drivers.base import Resource
from sfcperf.drivers.openstack import kinds
from sfcperf.drivers.openstack.endpoint_options import Standing
from sfcperf.errors import DeploymentError, SfcperfError
from sfcperf.hosts.ssh import SshHost
from sfcperf.hosts.ssh_access import SshAccess

_TIMEOUT_S = 30.0


def host_of(standing: Standing, workdir: Path) -> SshHost:
    """The machine as a Host; the first use connects."""
    pinned = (standing.host_key,)
    access = SshAccess(
        standing.address, standing.key_file, pinned, standing.ssh_user, standing.ssh_port
    )
    return SshHost(standing.name, access, workdir)


def resource(standing: Standing, workdir: Path) -> Resource:
    """What is written down before the machine is used."""
    detail = {
        "name": standing.name,
        "address": standing.address,
        "ssh_port": standing.ssh_port,
        "ssh_user": standing.ssh_user,
        "host_key": standing.host_key,
        "key_file": str(standing.key_file),
    }
    return Resource(kinds.WORKDIR, str(workdir), detail)


def remove(resources: Sequence[Resource], *, dry_run: bool) -> list[str]:
    """End what runs there for the run, and remove its folder. Raises DeploymentError."""
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
        except SfcperfError as error:
            raise DeploymentError(
                f"the folder {each.name} of {standing.address} may still be there: {error.message}",
                hint="remove it by hand, or try again when the machine can be reached",
            ) from error
        finally:
            host.close()
        lines.append(f"folder {each.name} of {standing.address}")
    return lines
