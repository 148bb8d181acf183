"""What a cloud must offer, for `doctor --driver openstack`, `plan` and runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

from sfcperf.drivers.openstack.api.cloud import HOW_TO_CONFIGURE, Cloud
from sfcperf.drivers.openstack.api.errors import CloudError
from sfcperf.drivers.openstack.compute.flavors import Flavors
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.network.networks import existing
from sfcperf.drivers.openstack.planning.quota import Needs, check_quota, needs_of
from sfcperf.errors import EnvironmentLacks, SfcperfError
from sfcperf.plugins import Requirement

__all__ = ["Needs", "check_quota", "needs_of", "requirements"]

PATIENCE_S = 10.0
"""A person waits."""
SERVICES = {"compute": "nova", "network": "neutron", "image": "glance"}
API_MAJOR = 2
"""Of the API that is spoken with each of them."""


def requirements(config: Config) -> list[Requirement]:
    """Credentials, services, extensions, and what the configuration names."""
    with closing(Cloud(config.cloud, log=lambda text: None, patience_s=PATIENCE_S)) as cloud:
        return _requirements(cloud, config)


def _requirements(cloud: Cloud, config: Config) -> list[Requirement]:
    credentials = _credentials(cloud, config)
    if not credentials.met:
        return [credentials]
    services = [_service(cloud, type_, name) for type_, name in SERVICES.items()]
    found = [credentials, *services]
    if all(service.met for service in services):
        found += _lifecycle(cloud, config)
        found += _named(cloud, config)
    return found


def _credentials(cloud: Cloud, config: Config) -> Requirement:
    name = "OpenStack credentials"
    try:
        connection = cloud.connection
    except SfcperfError as error:
        return Requirement(name, False, error.message, error.hint or HOW_TO_CONFIGURE)
    which = config.cloud or cloud.detail["cloud"] or "of the environment"
    url = connection.config.get_auth_args().get("auth_url")
    return Requirement(name, True, f"cloud {which}, project {_project(cloud)}, {url}")


def _project(cloud: Cloud) -> str:
    project = cloud.connection.current_project
    return str(project.name or project.id)


def _service(cloud: Cloud, type_: str, name: str) -> Requirement:
    def look() -> str:
        if not cloud.offers(type_):
            raise LookupError
        data = cloud.call(
            f"asking {name} for its version",
            lambda: getattr(cloud.connection, type_).get_endpoint_data(),
        )
        if data.api_version and data.api_version[0] != API_MAJOR:
            spoken = ".".join(map(str, data.api_version))
            raise EnvironmentLacks(
                f"{data.url} speaks version {spoken} of its API",
                hint=f"version {API_MAJOR} is needed",
            )
        newest = data.max_microversion or data.api_version
        return f"{data.url}, API {'.'.join(map(str, newest))}" if newest else str(data.url)

    try:
        return Requirement(name, True, look())
    except LookupError:
        return Requirement(
            name,
            False,
            f"the cloud's catalogue has no service of type {type_}",
            "another region, or another cloud",
        )
    except SfcperfError as error:
        return Requirement(name, False, error.message, error.hint or "")


def _lifecycle(cloud: Cloud, config: Config) -> list[Requirement]:
    from sfcperf.drivers.openstack.lifecycle import lifecycle

    try:
        return lifecycle(config.lifecycle).requirements(cloud, config)
    except SfcperfError as error:
        name = f"life cycle {config.lifecycle}"
        return [Requirement(name, False, error.message, error.hint or "")]


def _named(cloud: Cloud, config: Config) -> Iterator[Requirement]:
    """What the configuration calls by name."""
    flavors = Flavors(cloud)
    if config.image is not None:
        image = config.image
        yield _checked(f"image {image}", lambda: str(flavors.image(image).status))
    if config.flavor is not None:
        yield _checked(f"flavor {config.flavor}", lambda: _flavor(flavors, str(config.flavor)))
    for key in ("management_network", "external_network"):
        if getattr(config, key) is not None:
            yield _network(cloud, key, getattr(config, key))
    if config.management_network is None and config.external_network is None:
        yield Requirement(
            "a way to the VMs",
            False,
            "neither a management network nor an external one is configured",
            "--set infrastructure.config.management_network=NAME, or external_network",
        )
    if config.hosts:
        yield from _hosts(cloud, config)


def _network(cloud: Cloud, key: str, name: str) -> Requirement:
    return _checked(f"network {name}", lambda: str(existing(cloud, key, name).id))


def _flavor(flavors: Flavors, name: str) -> str:
    flavor = flavors.named(name)
    return f"{flavor.vcpus} vCPU, {flavor.ram} MiB"


def _hosts(cloud: Cloud, config: Config) -> Iterator[Requirement]:
    """Only an administrator sees hypervisors, and only one may choose among them."""
    try:
        services = cloud.call(
            "listing hypervisors",
            lambda: list(cloud.connection.compute.services(binary="nova-compute")),
        )
    except CloudError as error:
        denied = error.status == 403
        yield Requirement(
            "placement on hypervisors",
            False,
            "`hosts` is configured, and this project may not choose hypervisors"
            if denied
            else error.message,
            "credentials of an administrator, or leave `hosts` out" if denied else error.hint or "",
        )
        return
    up = {service.host for service in services if service.state == "up"}
    for host in dict.fromkeys(config.hosts.values()):
        yield Requirement(
            f"hypervisor {host}",
            host in up,
            "is up" if host in up else f"not among those that are up: {', '.join(sorted(up))}",
            "" if host in up else "name another one in `hosts`",
        )


def _checked(name: str, look: Callable[[], str]) -> Requirement:
    try:
        return Requirement(name, True, look())
    except SfcperfError as error:
        return Requirement(name, False, error.message, error.hint or "")
