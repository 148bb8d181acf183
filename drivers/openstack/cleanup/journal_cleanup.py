"""Removal of what the journal names, after a run or after a process that was killed.

Resources are found by their exact names, duplicates too. Parts of chains that use the run's ports
go with them, whoever made them. Cleanup looks again at the end, because a request that was under
way when sfcperf was killed may take effect late.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from sfcperf import waiting
from sfcperf.drivers.base import Resource
from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.errors import CloudError
from sfcperf.drivers.openstack.api.retry import DEFAULT, RetryPolicy
from sfcperf.drivers.openstack.cleanup import workdirs
from sfcperf.drivers.openstack.cleanup.chain_parts import chain_parts
from sfcperf.drivers.openstack.cleanup.removal import FoundResource, RemovalFailure, clear, present
from sfcperf.drivers.openstack.resources.context import Kind, LifecycleContext
from sfcperf.drivers.openstack.resources.operations import delete
from sfcperf.drivers.parallel import each
from sfcperf.errors import DeploymentError, SfcperfError

LATE_LOOKS = 3
"""Most looks for what appears late; one that finds nothing is the last."""

Names = Mapping[Kind, Sequence[str]]
"""Kind -> names of resources, in the order of removal."""
Failures = list[RemovalFailure]


def clean_up(
    resources: Sequence[Resource], *, dry_run: bool = False, retry: RetryPolicy = DEFAULT
) -> list[str]:
    """Remove what a dead run left; gives a line for each resource that was (or would be) removed.

    `detail` of each resource names its cloud. Raises DeploymentError that names each resource that
    could not be removed, and why; the others are removed all the same.
    """
    lines: list[str] = []
    failures: Failures = []
    folders, others = _split(resources)
    for (name, project, region), own in _by_cloud(others).items():
        cloud = Cloud(name, region=region, retry=retry)
        try:
            _check_project(cloud, project)
            if dry_run:
                lines += [found.line for found in _present(cloud, _by_kind(own))]
            else:
                lines += _remove_late_too(cloud, own, failures)
        except SfcperfError as error:
            failures += [RemovalFailure.of(f"{r.kind} {r.name}", error) for r in own]
        finally:
            cloud.close()
    lines += workdirs.clear(folders, failures, dry_run=dry_run)
    _raise_if(failures)
    return list(dict.fromkeys(lines))


def remove(cloud: Cloud, resources: Sequence[Resource]) -> list[str]:
    """Remove resources during a run; gives a line for each that was there. Looks again only if an
    answer was lost. Raises DeploymentError for what stays."""
    failures: Failures = []
    folders, others = _split(resources)
    lines = (_remove_late_too if cloud.lost_answer else _remove)(cloud, others, failures)
    lines += workdirs.clear(folders, failures, dry_run=False)
    _raise_if(failures)
    return lines


def remove_journaled(context: LifecycleContext, resources: Sequence[Resource]) -> None:
    """Remove resources, and note in the journal that they are gone. Raises DeploymentError if one
    cannot be removed; the journal then keeps all of them."""
    if resources:
        remove(context.cloud, resources)
        context.journal.removed(resources)


def _remove_late_too(cloud: Cloud, resources: Sequence[Resource], failures: Failures) -> list[str]:
    """Remove the resources, then look again for those that appear late, unless there are failures.
    Return a line for each that was there."""
    lines = _remove(cloud, resources, failures, late=True)
    for _ in range(LATE_LOOKS):
        if failures:
            break
        waiting.sleep(cloud.retry.late_check_s)
        late = _remove(cloud, resources, failures, late=True)
        if not late:
            break
        lines += late
    return lines


def _remove(
    cloud: Cloud, resources: Sequence[Resource], failures: Failures, *, late: bool = False
) -> list[str]:
    """Remove the resources in one pass through all kinds, and return a line for each that was
    there. What stays is added to `failures`. A service that does not answer gets no further
    requests: each would wait as long again. `late`: whether resources may still appear."""
    names = _by_kind(resources)
    lines, silent = _remove_chain_parts(cloud, names, failures)
    for kind, own in names.items():
        if late and kind == Kind.PORT and NEUTRON not in silent:
            # Neutron answers 500 to the deletion of a port that is in a port pair, and one may have
            # appeared while the servers were removed.
            lines += _remove_chain_parts(cloud, names, failures)[0]
        services = _SERVICES.get(kind, (NEUTRON,))
        silent_service = next((service for service in services if service in silent), None)
        if silent_service is not None:
            why = f"{silent_service} does not answer"
            failures += [RemovalFailure(f"{kind} {name}", why) for name in own]
            continue
        earlier = len(failures)
        lines += [found.line for found in clear(cloud, kind, own, failures)]
        if any(failure.no_answer for failure in failures[earlier:]):
            silent.add(services[0])
    return lines


NEUTRON = "neutron"
_SERVICES: Mapping[Kind, tuple[str, ...]] = {
    **dict.fromkeys((kind for kind in Kind if kind.startswith(("vnf", "vim"))), ("Tacker",)),
    Kind.STACK: ("heat",),
    # A server that nova deletes without neutron ends in ERROR.
    Kind.SERVER: ("nova", NEUTRON),
    Kind.KEYPAIR: ("nova",),
    Kind.FLAVOR: ("nova",),
}
"""Services that the removal of a kind needs, its own first; of other kinds it is neutron."""


def _remove_chain_parts(
    cloud: Cloud, names: Names, failures: Failures
) -> tuple[list[str], set[str]]:
    """Remove parts of chains kind by kind, and all of one kind at the same time. Return a line for
    each that was removed, and the services that do not answer. What stays is added to
    `failures`."""

    def remove_part(part: FoundResource) -> str | RemovalFailure:
        try:
            delete(cloud, part.kind, part.name, part.raw)
        except SfcperfError as error:
            return RemovalFailure.of(part.line, error)
        return part.line

    results: list[str | RemovalFailure] = []
    try:
        for _, parts in groupby(chain_parts(cloud, names), lambda part: part.kind):
            results += each(*(lambda p=part: remove_part(p) for part in parts))
    except CloudError as error:
        results.append(RemovalFailure.of("parts of chains at the run's ports", error))
    failed = [result for result in results if isinstance(result, RemovalFailure)]
    failures += failed
    silent = {NEUTRON} if any(failure.no_answer for failure in failed) else set()
    return [result for result in results if isinstance(result, str)], silent


def _present(cloud: Cloud, names: Names) -> list[FoundResource]:
    """Find all that is there of these names, and parts of chains that use the run's ports."""
    found = chain_parts(cloud, names)
    for kind, own in names.items():
        found += present(cloud, kind, own)
    return found


def _split(resources: Sequence[Resource]) -> tuple[list[Resource], list[Resource]]:
    """Return two lists: folders on existing machines, and what is in clouds."""
    folders = [each for each in resources if each.kind == Kind.WORKDIR]
    return folders, [each for each in resources if each.kind != Kind.WORKDIR]


_Place = tuple[str | None, str | None, str | None]
"""Name of a cloud in clouds.yaml (None: that of the environment), id of the project, and region."""


def _by_cloud(resources: Sequence[Resource]) -> dict[_Place, list[Resource]]:
    """Group resources by their place. A journal may lack project and region, which are None
    then."""
    found: dict[_Place, list[Resource]] = {}
    for resource in resources:
        detail = resource.detail or {}
        place = (detail.get("cloud"), detail.get("project"), detail.get("region"))
        found.setdefault(place, []).append(resource)
    return found


def _by_kind(resources: Sequence[Resource]) -> Names:
    """Return the names of each kind, in the order of removal. Raises DeploymentError for an unknown
    kind."""
    unknown = {resource.kind for resource in resources} - set(Kind)
    if unknown:
        raise DeploymentError(
            f"the journal has resources of unknown kinds: {', '.join(sorted(unknown))}",
            hint="another version of sfcperf wrote it: use that version to clean up",
        )
    return {
        kind: names
        for kind in Kind
        if (names := [resource.name for resource in resources if resource.kind == kind])
    }


def _check_project(cloud: Cloud, project: str | None) -> None:
    """Raise DeploymentError if the credentials lead to another project than the run's. There the
    names would not be found, and look as if they were gone."""
    here = cloud.connection.current_project_id
    if project is not None and project != here:
        raise DeploymentError(
            f"the run was in project {project} of the cloud, but the credentials now lead to "
            f"project {here}",
            hint="name the same cloud in OS_CLOUD, or set its OS_* variables, as for the run",
        )


def _raise_if(failures: Failures) -> None:
    """Raise a DeploymentError that names all failures, if there are any."""
    if not failures:
        return
    reasons = dict.fromkeys(f"{failure.what}: {failure.why}" for failure in failures)
    hints = dict.fromkeys(failure.hint for failure in failures if failure.hint)
    raise DeploymentError(
        "could not be removed: " + "; ".join(reasons),
        hint="; ".join(hints) or "run `sfcperf clean` again, or remove them with `openstack`",
    )
