"""Who there is in the cloud: projects, users, roles, and the catalogue of services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfcperf.playbooks.openstack.command import run
from sfcperf.playbooks.openstack.layout import PASSWORD, REGION, Layout
from sfcperf.playbooks.openstack.services import HTTP_PORTS

if TYPE_CHECKING:
    from openstack.connection import Connection

SERVICE_USERS = ("placement", "glance", "nova", "neutron", "heat", "tacker")
ROLES = ("admin", "member", "reader", "service", "heat_stack_owner", "heat_stack_user")
CATALOGUE = {
    "glance": ("image", HTTP_PORTS["glance-api"], ""),
    "placement": ("placement", HTTP_PORTS["placement"], ""),
    "nova": ("compute", HTTP_PORTS["nova-api"], "/v2.1"),
    "neutron": ("network", HTTP_PORTS["neutron-server"], ""),
    "heat": ("orchestration", HTTP_PORTS["heat-api"], "/v1/%(tenant_id)s"),
    "tacker": ("nfv-orchestration", HTTP_PORTS["tacker-server"], "/"),
    "fenix": ("maintenance", HTTP_PORTS["maintenance"], "/v1"),
}
"""Name: type, port, path."""


def keys(layout: Layout) -> None:
    """Keystone's keys, its administrator and its own place in the catalogue."""
    log = layout.log / "keystone-manage.log"
    manage = ["keystone-manage", "--config-file", f"{layout.etc}/keystone.conf"]
    root = ["--keystone-user", "root", "--keystone-group", "root"]
    for kind in ("fernet", "credential"):
        folder = layout.state / "keystone" / kind
        folder.mkdir(mode=0o700, exist_ok=True)
        run([*manage, f"{kind}_setup", *root], log)
    url = f"http://127.0.0.1:{HTTP_PORTS['keystone']}"
    urls = (f"--bootstrap-{kind}-url={url}" for kind in ("public", "internal", "admin"))
    region = f"--bootstrap-region-id={REGION}"
    run([*manage, "bootstrap", "--bootstrap-password", PASSWORD, region, *urls], log)


def populate() -> None:
    """Users with their roles, and the catalogue; what is there stays."""
    import openstack

    # The project of tests does not exist before this.
    cloud: Any = openstack.connect(
        auth_url=f"http://127.0.0.1:{HTTP_PORTS['keystone']}/v3",
        username="admin",
        password=PASSWORD,
        project_name="admin",
        user_domain_name="Default",
        project_domain_name="Default",
        region_name=REGION,
        load_yaml_config=False,
        load_envvars=False,
    )
    _users(cloud)
    _catalogue(cloud)
    _heat_domain(cloud)


def _users(cloud: Any) -> None:
    identity = cloud.identity
    roles = {role.name: role for role in identity.roles()}
    for name in ROLES:
        if name not in roles:
            roles[name] = identity.create_role(name=name)

    def project(name: str) -> Any:
        found = identity.find_project(name)
        return found or identity.create_project(name=name, domain_id="default")

    def user(name: str, home: Any, *granted: str) -> None:
        found = identity.find_user(name) or identity.create_user(
            name=name, password=PASSWORD, domain_id="default", default_project_id=home.id
        )
        for role in granted:
            identity.assign_project_role_to_user(home, found, roles[role])

    service, ours = project("service"), project("sfcperf")
    for name in SERVICE_USERS:
        user(name, service, "admin", "service")
    user("sfcperf", ours, "member", "heat_stack_owner")
    user("admin", ours, "admin", "heat_stack_owner")


def _catalogue(cloud: Any) -> None:
    identity = cloud.identity
    known = {service.name: service for service in identity.services()}
    there = {(each.service_id, each.interface) for each in identity.endpoints()}
    for name, (kind, port, path) in CATALOGUE.items():
        service = known.get(name) or identity.create_service(name=name, type=kind)
        for interface in ("public", "internal", "admin"):
            if (service.id, interface) not in there:
                identity.create_endpoint(
                    service_id=service.id,
                    interface=interface,
                    url=f"http://127.0.0.1:{port}{path}",
                    region_id=REGION,
                )


def _heat_domain(cloud: Any) -> None:
    """Heat makes users of its own for stacks, in a domain of its own."""
    identity = cloud.identity
    domain = identity.find_domain("heat") or identity.create_domain(name="heat")
    users = identity.users(domain_id=domain.id, name="heat_domain_admin")
    user = next(iter(users), None) or identity.create_user(
        name="heat_domain_admin", password=PASSWORD, domain_id=domain.id
    )
    identity.assign_domain_role_to_user(domain, user, identity.find_role("admin"))


def connection() -> Connection:
    """The cloud's administrator in the project of tests."""
    import openstack

    return openstack.connect(cloud="sfcperf-admin")
