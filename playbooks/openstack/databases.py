"""The databases of all services: made by their migrations once, from a dump afterwards."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sfcperf.playbooks.openstack.command import run
from sfcperf.playbooks.openstack.layout import DATABASE_PORT, DATABASES, PASSWORD, RUN, Layout

OPTIONS = ("--no-defaults", "--user=root", f"--socket={RUN}/mariadb.sock")
CLIENT = ("mariadb", *OPTIONS)


def create_server(layout: Layout) -> None:
    """The server's own tables, before its first start."""
    if not (layout.state / "mariadb" / "mysql").exists():
        run(
            [
                *("mariadb-install-db", "--no-defaults", "--user=root", "--skip-test-db"),
                *(f"--datadir={layout.state}/mariadb", "--auth-root-authentication-method=socket"),
            ],
            layout.log / "mariadb-install.log",
        )


def answers() -> bool:
    """Whether the server takes statements."""
    asked = subprocess.run([*CLIENT, "-e", "select 1"], capture_output=True, check=False)
    return asked.returncode == 0


def execute(statements: str) -> None:
    """Statements as the server's administrator."""
    subprocess.run(CLIENT, input=statements.encode(), check=True)


def grant() -> None:
    """The account of all services."""
    execute(
        f"CREATE USER IF NOT EXISTS 'sfcperf'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';"
        "GRANT ALL ON *.* TO 'sfcperf'@'127.0.0.1';"
    )


def load(dump: Path) -> None:
    """Everything as it was when the dump was made."""
    with dump.open("rb") as file:
        subprocess.run(CLIENT, stdin=file, check=True)


def save(dump: Path) -> None:
    """Everything, into one file that is whole or absent."""
    part = dump.with_suffix(".part")
    with part.open("wb") as file:
        subprocess.run(
            ["mariadb-dump", *OPTIONS, "--single-transaction", "--databases", *DATABASES],
            stdout=file,
            check=True,
        )
    part.rename(dump)


def migrate(layout: Layout) -> None:
    """Make all databases by the services' own migrations (a minute of processor time)."""
    execute("".join(f"CREATE DATABASE IF NOT EXISTS {n} CHARACTER SET utf8mb3;" for n in DATABASES))
    jobs = _migrations(layout)
    with ThreadPoolExecutor(len(jobs)) as pool:
        done = [pool.submit(_all, layout, name, commands) for name, commands in jobs.items()]
    for each in done:
        each.result()


def _all(layout: Layout, name: str, commands: Sequence[list[str]]) -> None:
    for command in commands:
        run(command, layout.log / f"migrate-{name}.log")


def _migrations(layout: Layout) -> dict[str, list[list[str]]]:
    """Job -> its commands, one after the other."""
    etc, option = layout.etc, "--config-file"
    nova = ["nova-manage", option, f"{etc}/nova.conf"]
    neutron = ["neutron-db-manage", option, f"{etc}/neutron.conf", option, f"{etc}/ml2.ini"]
    tacker = str(layout.tacker / "bin" / "tacker-db-manage")
    cell0 = f"mysql+pymysql://sfcperf:{PASSWORD}@127.0.0.1:{DATABASE_PORT}/nova_cell0?charset=utf8"
    return {
        "nova": [
            [*nova, "api_db", "sync"],
            [*nova, "cell_v2", "map_cell0", "--database_connection", cell0],
            [*nova, "cell_v2", "create_cell", "--name", "cell1"],
            [*nova, "db", "sync"],
        ],
        "neutron": [
            [*neutron, "upgrade", "heads"],
            [*neutron, "--subproject", "networking-sfc", "upgrade", "heads"],
        ],
        "others": [
            ["keystone-manage", option, f"{etc}/keystone.conf", "db_sync"],
            ["glance-manage", option, f"{etc}/glance.conf", "db_sync"],
            ["placement-manage", option, f"{etc}/placement/placement.conf", "db", "sync"],
            ["heat-manage", option, f"{etc}/heat.conf", "db_sync"],
            [tacker, option, f"{etc}/tacker.conf", "upgrade", "head"],
        ],
    }
