"""What a cloud must offer, for `doctor --driver openstack`, `plan` and runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.errors import CloudError
from sfcperf.drivers.openstack.api.retry import INTERACTIVE
from sfcperf.drivers.openstack.compute.flavors import Flavors
from sfcperf.drivers.openstack.lifecycle import LIFECYCLES
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.network.networks import find_network
from sfcperf.errors import EnvironmentLacks, SfcperfError
from sfcperf.plugins import Requirement

SERVICES = {"compute": "nova", "network": "neutron", "image": "glance"}
API_MAJOR = 2
"""Version of the API that the driver uses of each of them."""


def requirements(config: Config) -> list[Requirement]:
    """Require credentials, services, extensions, and what the configuration names."""
    with closing(Cloud(config.cloud, retry=INTERACTIVE)) as cloud:
        credentials = _credentials(cloud, config)
        if not credentials.met:
            return [credentials]
        services = [_service(cloud, type_, name) for type_, name in SERVICES.items()]
        if not all(service.met for service in services):
            return [credentials, *services]
        return [credentials, *services, *_lifecycle(cloud, config), *_named(cloud, config)]


def _credentials(cloud: Cloud, config: Config) -> Requirement:
    def look() -> str:
        connection = cloud.connection
        which = config.cloud or cloud.detail["cloud"] or "of the environment"
        url = connection.config.get_auth_args().get("auth_url")
        project = connection.current_project
        return f"cloud {which}, project {project.name or project.id}, {url}"

    return Requirement.found("OpenStack credentials", look)


def _service(cloud: Cloud, type_: str, name: str) -> Requirement:
    """Require a service of the cloud, with the version of its API that the driver uses."""

    def look() -> str:
        if not cloud.offers(type_):
            raise EnvironmentLacks(
                f"the cloud's catalogue has no service of type {type_}",
                hint="use another region, or another cloud",
            )
        data = cloud.call(
            f"asking {name} for its version",
            lambda: getattr(cloud.connection, type_).get_endpoint_data(),
        )
        if data.api_version and data.api_version[0] != API_MAJOR:
            version = ".".join(map(str, data.api_version))
            raise EnvironmentLacks(
                f"{data.url} offers version {version} of its API",
                hint=f"version {API_MAJOR} is needed",
            )
        newest = data.max_microversion or data.api_version
        return f"{data.url}, API {'.'.join(map(str, newest))}" if newest else str(data.url)

    return Requirement.found(name, look)


def _lifecycle(cloud: Cloud, config: Config) -> list[Requirement]:
    """Require what the life cycle needs. An error of the cloud is an unmet requirement, so that the
    others are shown too."""
    try:
        return LIFECYCLES[config.lifecycle].requirements(cloud, config)
    except SfcperfError as error:
        name = f"life cycle {config.lifecycle}"
        return [Requirement(name, False, error.message, error.hint or "")]


def _named(cloud: Cloud, config: Config) -> Iterator[Requirement]:
    """Require what the configuration names, and a network for SSH."""
    flavors = Flavors(cloud)

    def flavor(name: str) -> str:
        found = flavors.named(name)
        return f"{found.vcpus} vCPU, {found.ram} MiB"

    looks: dict[str, Callable[[str], str]] = {
        "image": lambda name: str(flavors.image(name).status),
        "flavor": flavor,
        "management_network": lambda name: str(find_network(cloud, "management_network", name).id),
        "external_network": lambda name: str(find_network(cloud, "external_network", name).id),
    }
    for key, look in looks.items():
        name = getattr(config, key)
        if name is not None:
            yield Requirement.found(f"{key.rpartition('_')[2]} {name}", partial(look, name))
    if config.management_network is None and config.external_network is None:
        yield Requirement(
            "network for SSH to the VMs",
            False,
            "neither a management network nor an external one is configured",
            "--set infrastructure.config.management_network=NAME, or external_network",
        )
    if config.hosts:
        yield from _hosts(cloud, config)


def _hosts(cloud: Cloud, config: Config) -> Iterator[Requirement]:
    """Require the configured hypervisors. Only administrators see them, and may choose among
    them."""
    try:
        services = cloud.call(
            "listing hypervisors",
            lambda: list(cloud.connection.compute.services(binary="nova-compute")),
        )
    except CloudError as error:
        detail, remedy = error.message, error.hint or ""
        if error.status == 403:
            detail = "`hosts` is configured, but this user may not choose hypervisors"
            remedy = "use credentials of an administrator, or leave `hosts` out"
        yield Requirement("placement on hypervisors", False, detail, remedy)
        return
    up = {service.host for service in services if service.state == "up"}
    for host in dict.fromkeys(config.hosts.values()):
        yield Requirement(
            f"hypervisor {host}",
            host in up,
            "is up" if host in up else f"not among those that are up: {', '.join(sorted(up))}",
            "" if host in up else "name another one in `hosts`",
        )
