"""Taking down what a run made in clouds, and on machines that stood before, from the journal alone.

The same code serves the orderly tear-down and the remains of a killed run. Things are found by
their exact names, all doubles of them; with ports go the pieces of chains that hang on them,
whoever made those. It is looked again after the end, since a request that was under way when
sfcperf was killed may take effect late.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from sfcperf.drivers.base import Resource
from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.errors import CloudError
from sfcperf.drivers.openstack.api.parallel import each
from sfcperf.drivers.openstack.cleanup import workdirs
from sfcperf.drivers.openstack.cleanup.chain_parts import dependents
from sfcperf.drivers.openstack.cleanup.removal import Found, Stuck, clear, present
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.resource_kinds import Kind
from sfcperf.errors import DeploymentError, SfcperfError
from sfcperf.hosts.abandon import pause

LATE_S = 3.0
"""After which it is looked again for what came late."""
LATE_LOOKS = 3
"""At most; one that finds nothing is the last."""


def demolish(resources: Sequence[Resource], *, dry_run: bool = False) -> list[str]:
    """Remove what a dead run left; gives a line for each thing that was (or would be) removed.

    `detail` of each resource says in which cloud. Raises DeploymentError that names each thing
    that could not be removed, and why; the others are removed all the same.
    """
    lines: list[str] = []
    stuck: list[Stuck] = []
    folders, rest = _apart(resources)
    for (name, project, region), own in _by_cloud(rest).items():
        cloud = Cloud(name, log=lambda text: None, region=region)
        try:
            _check_project(cloud, project)
            if dry_run:
                lines += [found.line for found in _there(cloud, own)]
            else:
                lines += _until_nothing_comes(cloud, own, stuck)
        except SfcperfError as error:
            stuck += [Stuck.of(f"{r.kind} {r.name}", error) for r in own]
        finally:
            cloud.close()
    lines += workdirs.clear(folders, stuck, dry_run=dry_run)
    _raise_if(stuck)
    return list(dict.fromkeys(lines))


def remove(cloud: Cloud, resources: Sequence[Resource]) -> list[str]:
    """Remove them in an orderly tear-down; gives a line for each thing that was there. It is looked
    again only when an answer was lost. Raises DeploymentError for what stays."""
    stuck: list[Stuck] = []
    take = _until_nothing_comes if cloud.doubtful else _remove
    folders, rest = _apart(resources)
    lines = take(cloud, rest, stuck)
    lines += workdirs.clear(folders, stuck, dry_run=False)
    _raise_if(stuck)
    return lines


def _until_nothing_comes(
    cloud: Cloud, resources: Sequence[Resource], stuck: list[Stuck]
) -> list[str]:
    lines = _remove(cloud, resources, stuck)
    for _ in range(LATE_LOOKS):
        if stuck:
            break
        pause(LATE_S)
        late = _remove(cloud, resources, stuck)
        if not late:
            break
        lines += late
    return lines


def _remove(cloud: Cloud, resources: Sequence[Resource], stuck: list[Stuck]) -> list[str]:
    """Once through all kinds: servers are gone before their ports are asked to go. Of a service
    that does not answer nothing more is asked: each call would wait as long again."""
    names = _by_kind(resources)
    lines, silent = _remove_dependents(cloud, names, stuck)
    for kind, own in names.items():
        needed = _SERVICES.get(kind, (NEUTRON,))
        absent = [service for service in needed if service in silent]
        if absent:
            stuck += [Stuck(f"{kind} {name}", f"{absent[0]} does not answer") for name in own]
            continue
        before = len(stuck)
        lines += [found.line for found in clear(cloud, kind, own, stuck)]
        if any(one.silent for one in stuck[before:]):
            silent.add(needed[0])
    return lines


NEUTRON = "neutron"
_SERVICES: Mapping[str, tuple[str, ...]] = {
    # A server that nova deletes without neutron ends in ERROR.
    Kind.SERVER: ("nova", NEUTRON),
    Kind.KEYPAIR: ("nova",),
    Kind.FLAVOR: ("nova",),
    Kind.STACK: ("heat",),
    **dict.fromkeys(
        (
            Kind.VNFFG,
            Kind.VNFFGD,
            Kind.VNF,
            Kind.VNFD,
            Kind.VNF_INSTANCE,
            Kind.VNF_PACKAGE,
            Kind.VIM,
        ),
        ("Tacker",),
    ),
}
"""Services that the removal of a kind needs, its own first; of the others it is neutron."""


def _remove_dependents(
    cloud: Cloud, names: Mapping[str, Sequence[str]], stuck: list[Stuck]
) -> tuple[list[str], set[str]]:
    """Kind by kind; those of one kind at the same time. Gives lines, and services that are
    silent."""

    def delete(one: Found) -> str | Stuck:
        try:
            operations.delete(cloud, one.kind, one.name, one.raw)
        except SfcperfError as error:
            return Stuck.of(one.line, error)
        return one.line

    try:
        found = dependents(cloud, names)
    except CloudError as error:
        stuck.append(Stuck.of("what hangs on the run's ports", error))
        return [], {NEUTRON} if stuck[-1].silent else set()
    ended: list[str | Stuck] = []
    for _, alike in groupby(found, lambda one: one.kind):
        ended += each(*(lambda o=one: delete(o) for one in alike))
    stayed = [one for one in ended if isinstance(one, Stuck)]
    stuck += stayed
    silent = {NEUTRON} if any(one.silent for one in stayed) else set()
    return [one for one in ended if isinstance(one, str)], silent


def _there(cloud: Cloud, resources: Sequence[Resource]) -> list[Found]:
    names = _by_kind(resources)
    found = dependents(cloud, names)
    for kind, own in names.items():
        found += present(cloud, kind, own)
    return found


def _apart(resources: Sequence[Resource]) -> tuple[list[Resource], list[Resource]]:
    """Folders of machines that stood before, and what is in the cloud."""
    folders = [each for each in resources if each.kind == Kind.WORKDIR]
    return folders, [each for each in resources if each.kind != Kind.WORKDIR]


_Place = tuple[str | None, str | None, str | None]


def _by_cloud(resources: Sequence[Resource]) -> dict[_Place, list[Resource]]:
    """By name of the cloud, id of the project, and region; a journal may lack the latter two."""
    found: dict[_Place, list[Resource]] = {}
    for resource in resources:
        detail = resource.detail or {}
        place = (detail.get("cloud"), detail.get("project"), detail.get("region"))
        found.setdefault(place, []).append(resource)
    return found


def _by_kind(resources: Sequence[Resource]) -> dict[str, list[str]]:
    """Kind -> names, in the order of removal. Raises DeploymentError for an unknown kind."""
    strange = {resource.kind for resource in resources} - set(Kind)
    if strange:
        raise DeploymentError(
            f"the journal names things of a kind that is not known: {', '.join(sorted(strange))}",
            hint="it is of another version of sfcperf: clean with that one",
        )
    return {
        kind: names
        for kind in Kind
        if (names := [resource.name for resource in resources if resource.kind == kind])
    }


def _check_project(cloud: Cloud, project: str | None) -> None:
    """In another project the names are not found, and would be taken for gone."""
    here = cloud.connection.current_project_id
    if project is not None and project != here:
        raise DeploymentError(
            f"the run was in project {project} of the cloud, and the credentials now lead to "
            f"project {here}",
            hint="name the same cloud in OS_CLOUD, or set its OS_* variables, as for the run",
        )


def _raise_if(stuck: Sequence[Stuck]) -> None:
    if not stuck:
        return
    reasons = dict.fromkeys(f"{one.what}: {one.why}" for one in stuck)
    hints = dict.fromkeys(one.hint for one in stuck if one.hint)
    raise DeploymentError(
        "could not be removed: " + "; ".join(reasons),
        hint="; ".join(hints) or "run `sfcperf clean` again, or remove them by `openstack`",
    )
