"""nginx as the far end of httperf and ab: one process and object, nothing of the system's nginx."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfcperf.active.server import start_server
from sfcperf.hosts.base import Process
from sfcperf.management.deployment import Endpoint

OBJECT_URI = "/object"
_MAKE_TIMEOUT_S = 30.0

# Every path is relative to the prefix. One process without a master: it keeps the rights of who
# started it (so it can read the object), and when it is killed no worker is left behind. It looks
# up a user all the same, and the one that it was built for is not there in every small VM.
_CONFIGURATION = """\
daemon off;
master_process off;
user root root;
pid nginx.pid;
error_log stderr error;
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    default_type application/octet-stream;
    sendfile on;
    tcp_nodelay on;
    keepalive_timeout 3600s;
    keepalive_requests 1000000000;
    client_body_temp_path temp;
    proxy_temp_path temp;
    fastcgi_temp_path temp;
    uwsgi_temp_path temp;
    scgi_temp_path temp;
    server {{
{listen}
        location = {uri} {{ root .; }}
    }}
}}
"""


def start_web_server(
    server: Endpoint, *, port: int, object_bytes: int, raw_dir: Path, more_ports: Sequence[int] = ()
) -> Process:
    """Serve an object of object_bytes (zeros) at OBJECT_URI, on the endpoint's address alone.

    `more_ports` serve it as well, as the backends of a load balancer do. Returns when nginx
    listens; raises MeasurementError when it does not. Its folder is in the host's workdir and goes
    with it; its configuration stays in raw_dir as well.
    """
    host = server.host
    prefix = host.workdir / f"nginx-{port}"
    configuration = raw_dir / "nginx.conf"
    listen = "\n".join(
        f"        listen {server.address}:{each} backlog=4096;" for each in (port, *more_ports)
    )
    configuration.write_text(_CONFIGURATION.format(listen=listen, uri=OBJECT_URI))
    host.put(configuration, prefix / "nginx.conf")
    # A hole: however large the object, it is made at once, where it is served, without a copy here.
    path = prefix / OBJECT_URI.removeprefix("/")
    host.run(["truncate", "-s", str(object_bytes), str(path)], timeout_s=_MAKE_TIMEOUT_S)
    # -e: before it reads its configuration, nginx would open the log that it was built with.
    argv = ["nginx", "-e", "stderr", "-p", str(prefix), "-c", "nginx.conf"]
    return start_server(
        host,
        argv,
        port=port,
        stdout=raw_dir / "nginx.txt",
        stderr=raw_dir / "nginx.stderr.txt",
    )
