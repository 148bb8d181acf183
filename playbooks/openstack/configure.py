"""The configuration of all services, from the templates beside this file."""

from __future__ import annotations

import shutil
from pathlib import Path

from sfcperf.playbooks.openstack.layout import (
    DATABASE_PORT,
    PASSWORD,
    REGION,
    RUN,
    SOURCES,
    Layout,
    node_name,
    underlay_address,
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
NODE_FOLDERS = (
    *("nova/instances", "neutron", "lock", "private/etc/libvirt", "private/etc/openvswitch"),
)
"""Of the state of a further node, at the beginning."""
HEAT_ENVIRONMENT = Path("/etc/heat/environment.d/default.yaml")


def _of_node(layout: Layout, number: int) -> dict[str, object]:
    """What the configuration of a node has of its own."""
    is_only = layout.node_count == 1
    return {
        "node": node_name(number),
        "number": number,
        "etc": layout.etc_of_node(number),
        "state": layout.state if number == 1 else layout.of_node(number),
        "local_ip": "127.0.0.1" if is_only else underlay_address(number),
    }


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
        log=layout.log,
        password=PASSWORD,
        region=REGION,
        run=RUN,
        services=services(layout),
        tacker=layout.tacker,
    )
    for folder in FOLDERS:
        (layout.state / folder).mkdir(parents=True, exist_ok=True)
    environment.globals.update(_of_node(layout, 1))
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
    for number in range(2, layout.node_count + 1):
        own = _of_node(layout, number)
        for folder in NODE_FOLDERS:
            (layout.of_node(number) / folder).mkdir(parents=True, exist_ok=True)
        etc = layout.etc_of_node(number)
        write("nova.conf", etc / "nova-compute.conf", databases=False, **own)
        for name in ("neutron.conf", "ml2.ini", "libvirtd.conf"):
            write(name, etc / name, **own)
        write("qemu.conf", layout.of_node(number) / "private/etc/libvirt/qemu.conf")
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
