"""The run's folder on machines that it did not make; journaled like other resources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from sfcperf.drivers.base import Resource
from sfcperf.drivers.openstack.cleanup.removal import RemovalFailure
from sfcperf.drivers.openstack.compute.guest import CONNECT_TIMEOUT_S, existing_host
from sfcperf.drivers.openstack.model.specs import ExistingMachine
from sfcperf.drivers.openstack.resources.context import Kind
from sfcperf.errors import DeploymentError, EnvironmentLacks, SfcperfError

_TIMEOUT_S = 30.0
_PARENT = Path("/tmp")


def check(machine: ExistingMachine) -> None:
    """Check that an existing machine answers. Raises EnvironmentLacks if it cannot be reached,
    InputError if its key cannot be read."""
    host = existing_host(machine, _PARENT)
    try:
        host.wait_reachable(CONNECT_TIMEOUT_S, boots=False)
    except DeploymentError as error:
        raise error.as_kind(
            EnvironmentLacks,
            where=f"/endpoints/{machine.name}/options/machine",
            hint=error.hint or "is it switched on, and its address right?",
        ) from error
    finally:
        host.close()


def folder(name: str) -> Path:
    """Return the run's folder on a machine that it did not make; `name` carries the tag."""
    return _PARENT / name


def resource(machine: ExistingMachine, workdir: Path) -> Resource:
    """Return the folder's entry for the journal, which is written before the machine is used."""
    # `clean` may run in another folder, so the path of the key must be absolute.
    detail = {**asdict(machine), "key_file": str(machine.key_file.absolute())}
    # The removal of the folder does not need these.
    del detail["interface"], detail["port"]
    return Resource(Kind.WORKDIR, str(workdir), detail)


def clear(
    resources: Sequence[Resource], failures: list[RemovalFailure], *, dry_run: bool
) -> list[str]:
    """End what runs on these machines for the run, and remove its folders; gives a line for each.
    What stays is added to `failures`."""
    lines = []
    for each in resources:
        detail = dict(each.detail or {})
        machine = ExistingMachine(
            **{**detail, "key_file": Path(detail["key_file"])}, interface="", port=""
        )
        what = f"folder {each.name} of {machine.address}"
        if dry_run:
            lines.append(f"{what}, if it exists")
            continue
        # A connection keeps files in its workdir: this one works in the parent folder.
        host = existing_host(machine, Path(each.name).parent)
        try:
            host.run(["rm", "-rf", each.name], timeout_s=_TIMEOUT_S)
            lines.append(what)
        except SfcperfError as error:
            hint = "remove it by hand, or try again when the machine can be reached"
            failures.append(RemovalFailure(f"{what}, if it exists", error.message, hint))
        finally:
            host.close()
    return lines
