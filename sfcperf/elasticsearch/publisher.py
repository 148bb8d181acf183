"""ElasticsearchPublisher: a run's documents go to a cluster when it ends."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.results.publisher import Publisher
from sfcperf.results.store import RunStore


class ElasticsearchPublisher(Publisher):
    """Sends the run; while the server is away the run waits in the spool, and is not failed."""

    name: ClassVar[str] = "elasticsearch"
    title: ClassVar[str] = "Data streams in Elasticsearch: runs, trials, summaries, telemetry"
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "url": {
                "description": "The server, https://HOST:PORT, or a list of nodes of one cluster. "
                "No user or password: those come from the environment (SFCPERF_ES_API_KEY, or "
                "SFCPERF_ES_USER and SFCPERF_ES_PASSWORD) or from the keyring.",
                "type": ["string", "array"],
                "pattern": "^https?://[^@?#\\s]+$",
                "minItems": 1,
                "items": {"type": "string", "pattern": "^https?://[^@?#\\s]+$"},
            },
            "prefix": {
                "description": "Before the names of data streams and templates.",
                "type": "string",
                "pattern": "^[a-z0-9][a-z0-9._-]{0,79}$",
                "default": "sfcperf",
            },
            "ca": {
                "description": "File with certificates of the authorities that are trusted (PEM), "
                "from the workflow's folder; without it, those of the system.",
                "type": "string",
                "minLength": 1,
            },
            "fingerprint": {
                "description": "SHA-256 of the only server certificate to trust, hexadecimal.",
                "type": "string",
                "pattern": "^([0-9a-fA-F]{2}:?){32}$",
            },
            "insecure": {
                "description": "Do not check the server's identity, and allow secrets over plain "
                "HTTP. Only for a network that you trust entirely.",
                "type": "boolean",
                "default": False,
            },
            "patience_s": {
                "description": "How long to try again while the server is unavailable, before the "
                "run is left to `sfcperf index --pending`.",
                "type": "number",
                "minimum": 0,
                "maximum": 86400,
                "default": 30,
            },
        },
        "required": ["url"],
        "additionalProperties": False,
    }

    def publish(self, run: RunStore) -> list[Path]:
        """See Publisher. Raises ServerAway, with the place where the run waits, EnvironmentLacks
        and InputError."""
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
