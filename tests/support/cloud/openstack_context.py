"""What the driver's parts work with, for tests on the real cloud."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfcperf.drivers.journal import FileJournal
from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.model.config import PARAMETERS, Config
from sfcperf.drivers.openstack.model.specs import MachinePlan, MachineSpec, ResourceNames
from sfcperf.drivers.openstack.resources.context import LifecycleContext
from sfcperf.workflow.defaults import with_defaults

MANAGEMENT_NETWORK = "management"
IMAGE, FLAVOR = "sfcperf-tiny", "sfcperf.micro"
USER_DATA = "#!/bin/sh\necho sfcperf-test: user data ran >/dev/console\n"


def lifecycle_context(folder: Path, settings: Mapping[str, Any] | None = None) -> LifecycleContext:
    """With a tag of its own; the journal is in `folder`. What is said is printed."""
    given = {"image": IMAGE, "management_network": MANAGEMENT_NETWORK, **(settings or {})}
    wanted = {key: value for key, value in given.items() if value is not None}
    config = Config(**with_defaults(PARAMETERS, wanted))
    names = ResourceNames(secrets.token_hex(3))
    cloud = Cloud(config.cloud, print)
    journal = FileJournal(folder / f"journal-{names.tag}.jsonl").of(0)
    return LifecycleContext(cloud, config, names, journal)


def public_key() -> str:
    """A line as in authorized_keys, of a key that nobody uses."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = Ed25519PrivateKey.generate().public_key()
    return key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode() + " test"


def endpoint(names: ResourceNames, number: int, name: str, address: str | None) -> MachinePlan:
    """A small machine at an end of the chain."""
    spec = MachineSpec("endpoint", name, "endpoint", IMAGE, FLAVOR, 1, 128, None, None)
    return MachinePlan(names.machine(number, name), spec, address)


def function(names: ResourceNames, number: int, vnf: str = "fwd") -> MachinePlan:
    """A small machine with a port pair."""
    spec = MachineSpec("function", vnf, "forwarder", IMAGE, FLAVOR, 1, 128, None, None)
    return MachinePlan(names.machine(number, vnf), spec, None)
