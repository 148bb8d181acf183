"""clouds.yaml with an entry whose cloud is reached by the proxy alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from support.faulty_cloud.catalogue import endpoints
from support.faulty_cloud.proxy import Proxy

if TYPE_CHECKING:
    from openstack.connection import Connection

NAME = "sfcperf-faulty"


def before(cloud: Connection) -> Proxy:
    """A proxy, to be entered, before all APIs of a cloud."""
    keystone = ("identity", cloud.config.get_auth_args()["auth_url"])
    return Proxy([*endpoints(cloud), keystone])


def write_clouds(proxy: Proxy, real: Path, cloud: str, into: Path) -> Path:
    """A copy of clouds.yaml in the folder `into`, with the entry `cloud` under NAME as well, there
    with the proxy's address."""
    document = yaml.safe_load(real.read_text())
    entry = yaml.safe_dump(document["clouds"][cloud])
    document["clouds"][NAME] = yaml.safe_load(proxy.rewritten(entry))
    file = into / "clouds.yaml"
    file.write_text(yaml.safe_dump(document))
    file.chmod(0o600)
    return file
