"""ElasticsearchPublisher: a run's documents go to a cluster when it ends."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from sfcperf.plugins import Requirement, flag, number, object_schema
from sfcperf.results.publisher import Publisher
from sfcperf.results.store import RunStore


class ElasticsearchPublisher(Publisher):
    """Sends the run. While the server is down, the run waits in the spool; it does not fail."""

    name: ClassVar[str] = "elasticsearch"
    title: ClassVar[str] = (
        "Runs, trials, summaries, claims, telemetry and flows as data streams in Elasticsearch"
    )
    parameters = object_schema(
        {
            "url": {
                "description": "The server, https://HOST:PORT, or a list of nodes of one cluster, "
                "without user and password. These come from the environment (SFCPERF_ES_API_KEY, "
                "or SFCPERF_ES_USER and SFCPERF_ES_PASSWORD) or from the keyring.",
                "type": ["string", "array"],
                "pattern": "^https?://[^@?#\\s]+$",
                "minItems": 1,
                "items": {"type": "string", "pattern": "^https?://[^@?#\\s]+$"},
            },
            "prefix": {
                "description": "Prefix of the names of data streams and templates.",
                "type": "string",
                "pattern": "^[a-z0-9][a-z0-9._-]{0,79}$",
                "default": "sfcperf",
            },
            "ca": {
                "description": "File with certificates of trusted authorities (PEM), relative to "
                "the workflow's folder. Default: those of the system.",
                "type": "string",
                "minLength": 1,
            },
            "fingerprint": {
                "description": "SHA-256 of the only server certificate to trust, hexadecimal.",
                "type": "string",
                "pattern": "^([0-9a-fA-F]{2}:?){32}$",
            },
            "insecure": flag(
                "Do not check the server's identity, and allow secrets over plain HTTP. Only for a "
                "network that you trust entirely."
            ),
            "patience_s": number(
                "How long to keep trying while the server is down, seconds. After that, send the "
                "run with `sfcperf index --pending`.",
                (0, 86400),
                default=30,
            ),
        },
        required=["url"],
    )

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Require the Python package `elasticsearch`."""
        from sfcperf.elasticsearch.connection import client_library

        return [client_library()]

    def publish(self, run: RunStore) -> list[Path]:
        """Send the run to the server, and keep trying for `patience_s` while it is down. Raises
        EnvironmentLacks, InputError, and ServerAway, which says where the run waits."""
        from sfcperf.elasticsearch.delivery import deliver
        from sfcperf.elasticsearch.spool import Spool
        from sfcperf.elasticsearch.target import of_parameters

        deliver(
            run,
            of_parameters(self.parameters, run.workflow()[1]),
            spool=Spool(),
            progress=lambda _stream, _done, _total: None,
            retry_s=self.parameters["patience_s"],
        )
        return []
