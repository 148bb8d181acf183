"""The VIM: this cloud as Tacker knows it, with credentials for the project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.tacker_server import TackerServer
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.context import Kind, LifecycleContext
from sfcperf.errors import DeploymentError, EnvironmentLacks

_UNUSABLE = ("UNREACHABLE", "ERROR")


@dataclass(frozen=True)
class Project:
    """Project and user of the connection."""

    id: str
    name: str
    password: str | None
    """Password of the user; None with a token or an application credential."""
    vim: Mapping[str, Any]
    """What registers a VIM for it with Tacker, except the VIM's name."""

    @classmethod
    def of(cls, cloud: Cloud) -> Project:
        """Read project and user from the connection's token, and the password from clouds.yaml."""
        connection = cloud.connection
        session: Any = connection.session
        access = cloud.call(
            "reading the token's project and user", lambda: session.auth.get_access(session)
        )
        config = connection.config.config
        password = config.get("auth", {}).get("password")
        vim = {
            "description": "sfcperf, for one run",
            "type": "openstack",
            "is_default": False,
            "auth_url": str(session.auth.auth_url),
            "auth_cred": {
                "username": access.username,
                "password": password,
                "user_domain_name": access.user_domain_name,
                # Whether to check keystone's certificate.
                "cert_verify": str(bool(config.get("verify", True))),
            },
            "vim_project": {
                "name": access.project_name,
                "project_domain_name": access.project_domain_name,
            },
        }
        return cls(access.project_id, access.project_name, password, vim)


def find_vim(server: TackerServer, project: Project) -> Mapping[str, Any] | None:
    """Return a VIM that Tacker has for our project, preferably its default one; None if there is
    none that can be used."""
    vims = server.call("listing Tacker's VIMs", lambda client: client.list_vims()["vims"])
    own_vims = [
        vim for vim in vims if _is_ours(vim, project) and vim.get("status") not in _UNUSABLE
    ]
    return next(iter(sorted(own_vims, key=lambda vim: not vim.get("is_default"))), None)


def _is_ours(vim: Mapping[str, Any], project: Project) -> bool:
    """Whether a VIM is for our project at the same keystone. A VIM without a project's id is
    compared by the project's name and domain."""
    where, domain = vim.get("vim_project") or {}, project.vim["vim_project"]["project_domain_name"]
    same_project = where.get("id") == project.id or (
        not where.get("id")
        and where.get("name") == project.name
        and where.get("project_domain_name") in (None, domain)
    )
    return (
        vim.get("type") == "openstack"
        and same_project
        and _keystone(vim.get("auth_url", "")) == _keystone(project.vim["auth_url"])
    )


def _keystone(url: str) -> tuple[str, str]:
    """Return what URLs of the same keystone have in common: they may end in /v3, /v3/ or
    neither."""
    parts = urlsplit(url.lower())
    return parts.netloc, parts.path.rstrip("/").removesuffix("/v3").rstrip("/")


def ensure_vim(server: TackerServer, context: LifecycleContext) -> str:
    """Id of a VIM for our project: one that Tacker has, or one that is registered for the run.

    Raises EnvironmentLacks if there is none and no password to register one with;
    DeploymentError if Tacker does not reach the cloud by it.
    """
    project = Project.of(server.cloud)
    known = find_vim(server, project)
    if known is not None:
        server.cloud.log(f"openstack: Tacker uses its VIM {known['name']}")
        return str(known["id"])
    if project.password is None:
        raise EnvironmentLacks(
            f"Tacker has no VIM for the project {project.name}, and one cannot be registered "
            "without a password: Tacker signs in with name and password",
            hint="ask the cloud's operator to register a VIM for the project (`openstack vim "
            "register`), or sign in with a password in clouds.yaml",
        )
    name = context.names.of("vim")
    context.intend([(Kind.VIM, name)])
    server.cloud.log(f"openstack: registering the VIM {name} with Tacker, which keeps the password")
    made = operations.create_in_tacker(server, Kind.VIM, name, **project.vim)
    _check(server.cloud, name)
    return made.id


def _check(cloud: Cloud, name: str) -> None:
    """Check that this user sees the VIM that was registered, and that Tacker can use it. It may
    stay PENDING: some servers do not monitor VIMs."""
    shown = operations.find(cloud, Kind.VIM, name)
    if not shown:
        raise EnvironmentLacks(
            f"Tacker registered the VIM {name}, but hides it from this user, who can neither use "
            "nor remove it",
            hint="Tacker's default policy shows objects of its legacy API only to administrators: "
            "ask its operator to set `admin_or_owner` so that it compares tenant_id too, and to "
            "remove the VIM; or sign in as an administrator of the project",
        )
    for vim in shown:
        if vim.status in _UNUSABLE:
            raise DeploymentError(
                f"Tacker cannot reach the cloud through its VIM {name}, which is {vim.status}"
                + (f", {vim.reason}" if vim.reason else ""),
                hint="Tacker's server must reach keystone at the auth_url of clouds.yaml",
            )
