"""The configuration of all services, from the templates beside this file."""

from __future__ import annotations

import shutil
from pathlib import Path

from sfcperf.playbooks.openstack.layout import (
    DATABASE_PORT,
    NODE,
    PASSWORD,
    REGION,
    RUN,
    SOURCES,
    Layout,
)
from sfcperf.playbooks.openstack.services import services

PLACES = {
    "heat-environment.yaml": "heat-environment/sfcperf.yaml",
    "placement.conf": "placement/placement.conf",
}
"""Files that are not directly in the folder of the configuration."""
FOLDERS = (
    *("glance/images", "glance/staging", "glance/tasks", "nova/instances", "neutron"),
    *("keystone", "heat", "lock", "rabbitmq", "mariadb", "private/etc/libvirt"),
    *("private/etc/openvswitch", "tacker/vim/fernet_keys", "tacker/vnfpackages", "tacker/csar"),
)
"""Of the state, at the beginning."""
HEAT_ENVIRONMENT = Path("/etc/heat/environment.d/default.yaml")


def configure(layout: Layout) -> Path:
    """Write everything anew; returns the supervisor's configuration."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(SOURCES / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.update(
        auth_url="http://127.0.0.1:5000/v3",
        database_port=DATABASE_PORT,
        databases=True,
        etc=layout.etc,
        log=layout.log,
        node=NODE,
        password=PASSWORD,
        region=REGION,
        run=RUN,
        services=services(layout),
        state=layout.state,
        tacker=layout.tacker,
    )
    for folder in FOLDERS:
        (layout.state / folder).mkdir(parents=True, exist_ok=True)
    (layout.log / "rabbitmq").mkdir(parents=True, exist_ok=True)

    def write(template: str, to: Path, **values: object) -> None:
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(environment.get_template(f"{template}.j2").render(**values))

    for template in sorted((SOURCES / "templates").glob("*.j2")):
        if template.name != "common.j2":
            write(template.stem, layout.etc / PLACES.get(template.stem, template.stem))
    # nova-compute has no business with the databases, and says so when it sees them.
    write("nova.conf", layout.etc / "nova-compute.conf", databases=False)
    write("qemu.conf", layout.state / "private/etc/libvirt/qemu.conf")
    write("clouds.yaml", layout.clouds)
    (layout.etc / "rabbitmq-env.conf").write_text("")
    (layout.etc / "rabbitmq-plugins").write_text("[].\n")
    if HEAT_ENVIRONMENT.exists():
        shutil.copy(HEAT_ENVIRONMENT, layout.etc / "heat-environment")
    cookie = layout.state / "rabbitmq" / ".erlang.cookie"
    if not cookie.exists():
        cookie.write_text("SFCPERF\n")
        cookie.chmod(0o400)
    return layout.etc / "supervisord.conf"
