"""The VIM: this cloud as Tacker knows it, with credentials by which Tacker acts in the project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.resource_kinds import Kind
from sfcperf.errors import DeploymentError, EnvironmentLacks

if TYPE_CHECKING:
    from sfcperf.drivers.openstack.api.cloud import Cloud
    from sfcperf.drivers.openstack.api.tacker_server import TackerServer
    from sfcperf.drivers.openstack.lifecycle.base import Workshop

_UNWELL = ("UNREACHABLE", "ERROR")


@dataclass(frozen=True)
class Project:
    """Who we are in this cloud."""

    auth_url: str
    username: str
    user_domain: str
    project_id: str
    project: str
    project_domain: str
    password: str | None
    """None: the cloud is entered by a token or an application credential."""
    verify: bool
    """Whether Tacker should check keystone's certificate, as we do."""

    @classmethod
    def of(cls, cloud: Cloud) -> Project:
        """From the connection's token, and what clouds.yaml says."""
        connection = cloud.connection
        session: Any = connection.session
        access = cloud.call("asking who we are", lambda: session.auth.get_access(session))
        auth = connection.config.config.get("auth", {})
        return cls(
            auth_url=str(session.auth.auth_url),
            username=access.username,
            user_domain=access.user_domain_name,
            project_id=access.project_id,
            project=access.project_name,
            project_domain=access.project_domain_name,
            password=auth.get("password"),
            verify=bool(connection.config.config.get("verify", True)),
        )


def standing(server: TackerServer, project: Project) -> Mapping[str, Any] | None:
    """A VIM that Tacker already has for our project; its default one rather than another."""
    vims = server.call("listing Tacker's VIMs", lambda client: client.list_vims()["vims"])
    ours = [vim for vim in vims if _is_ours(vim, project) and vim.get("status") not in _UNWELL]
    return next(iter(sorted(ours, key=lambda vim: not vim.get("is_default"))), None)


def _is_ours(vim: Mapping[str, Any], project: Project) -> bool:
    where = vim.get("vim_project") or {}
    same_project = where.get("id") == project.project_id or (
        not where.get("id")
        and where.get("name") == project.project
        and where.get("project_domain_name") in (None, project.project_domain)
    )
    return (
        vim.get("type") == "openstack"
        and same_project
        and _keystone(vim.get("auth_url", "")) == _keystone(project.auth_url)
    )


def _keystone(url: str) -> tuple[str, str]:
    """What two URLs of the same keystone have in common: they may end in /v3, /v3/ or neither."""
    parts = urlsplit(url.lower())
    return parts.netloc, parts.path.rstrip("/").removesuffix("/v3").rstrip("/")


def ensured(server: TackerServer, workshop: Workshop) -> str:
    """Id of a VIM for our project: the one that stands, or the run's own, which is registered.

    Raises EnvironmentLacks when there is none and no password to register one with;
    DeploymentError when Tacker does not reach the cloud by it.
    """
    project = Project.of(server.cloud)
    known = standing(server, project)
    if known is not None:
        workshop.log(f"openstack: Tacker acts by its VIM {known['name']}")
        return str(known["id"])
    if project.password is None:
        raise EnvironmentLacks(
            f"Tacker has no VIM for the project {project.project}, and one cannot be registered "
            "without a password: Tacker signs in with name and password",
            hint="let the cloud's operator register a VIM for the project (`openstack vim "
            "register`), or sign in with a password in clouds.yaml",
        )
    name = workshop.names.of("vim")
    workshop.journal.intend([operations.resource(server.cloud, Kind.VIM, name)])
    workshop.log(f"openstack: registering the VIM {name} with Tacker, which keeps the password")
    body = _registration(name, project)
    made = operations.ensure(
        server.cloud,
        Kind.VIM,
        name,
        lambda: server.once(lambda client: _Made(client.create_vim(body)["vim"])),
    )
    _check(server, name)
    return operations.identity(made)


class _Made:
    """What Tacker answers, with an id as `things` wants it."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.id = str(body["id"])


def _check(server: TackerServer, name: str) -> None:
    """Servers without a monitor of VIMs leave them PENDING."""
    shown = operations.every(server.cloud, Kind.VIM, name)
    if not shown:
        raise EnvironmentLacks(
            f"Tacker registered the VIM {name}, but does not show it to this user, who can neither "
            "use nor remove it",
            hint="Tacker's default policy shows objects of its legacy API to administrators only: "
            "let its operator set `admin_or_owner` so that it compares tenant_id too, and remove "
            "the VIM; or sign in as an administrator of the project",
        )
    for vim in shown:
        if vim.status in _UNWELL:
            raise DeploymentError(
                f"Tacker does not reach the cloud by its VIM {name}: it is {vim.status}"
                + (f", {vim.reason}" if vim.reason else ""),
                hint="Tacker's server must reach keystone at the auth_url of clouds.yaml",
            )


def _registration(name: str, project: Project) -> dict[str, Any]:
    return {
        "vim": {
            "name": name,
            "description": "sfcperf, for one run",
            "type": "openstack",
            "is_default": False,
            "auth_url": project.auth_url,
            "auth_cred": {
                "username": project.username,
                "password": project.password,
                "user_domain_name": project.user_domain,
                "cert_verify": str(project.verify),
            },
            "vim_project": {
                "name": project.project,
                "project_domain_name": project.project_domain,
            },
        }
    }
