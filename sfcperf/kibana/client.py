"""Import into a Kibana: https://www.elastic.co/docs/api/doc/kibana/v8/group/endpoint-saved-objects"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfcperf import retry
from sfcperf.elasticsearch.connection import AWAY, ServerAway
from sfcperf.elasticsearch.secrets import API_KEY, PASSWORD, USER, credentials
from sfcperf.elasticsearch.target import Target
from sfcperf.errors import EnvironmentLacks, InputError

if TYPE_CHECKING:
    import requests

TIMEOUT_S = 60.0
WAIT_S = 120.0
"""How long to wait for a Kibana that is starting, seconds."""
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 16.0


@dataclass(frozen=True)
class ImportResult:
    """Kibana's answer to an import."""

    count: int
    """Number of objects that were written."""
    errors: tuple[str, ...]
    """A sentence for each object that was not written: which one, and why."""


def import_objects(
    target: Target,
    content: str,
    *,
    space: str | None = None,
    overwrite: bool = True,
    wait_s: float = WAIT_S,
) -> ImportResult:
    """Send saved objects (NDJSON) to a Kibana; wait up to `wait_s` while it starts or is busy.

    `target`: URL of Kibana, with its certificates. Secrets are those for Elasticsearch, with which
    Kibana checks them. Raises EnvironmentLacks when the server does not answer, refuses, or is no
    Kibana, InputError when there is no such `space`.
    """
    with _session(target) as session:
        path = f"{target.name}{f'/s/{space}' if space else ''}/api/saved_objects/_import"

        def post() -> requests.Response:
            return session.post(
                path,
                params={"overwrite": "true"} if overwrite else {},
                files={"file": ("sfcperf.ndjson", content.encode(), "application/ndjson")},
                timeout=TIMEOUT_S,
                # Kibana redirects to its login page: that is no answer, and no other server must
                # receive the secrets.
                allow_redirects=False,
            )

        response = _with_retries(post, target, wait_s)
    if response.status_code == 404 and space:
        raise InputError(f"this Kibana has no space {space!r}", where=target.name)
    if response.status_code != 200:
        raise _refused(response, target)
    return _result(_json(response, target), target)


def _session(target: Target) -> requests.Session:
    """Return a session with the headers, certificates and secrets for this Kibana."""
    import requests

    session = requests.Session()
    # No proxy and no .netrc of the environment: secrets go to this server alone.
    session.trust_env = False
    session.headers["kbn-xsrf"] = "sfcperf"
    # A file of authorities, True for those of the system, or False for no check.
    session.verify = target.ca or not target.insecure
    known = credentials(target)
    if "api_key" in known:
        session.headers["Authorization"] = f"ApiKey {known['api_key']}"
    elif "basic_auth" in known:
        session.auth = known["basic_auth"]
    return session


def _with_retries(
    post: Callable[[], requests.Response], target: Target, wait_s: float
) -> requests.Response:
    """Call `post` and return Kibana's answer; call it again, for `wait_s` seconds, while Kibana is
    away. That is safe: the same objects have the same ids, so that a second import replaces them.
    Raises ServerAway, and EnvironmentLacks for a certificate that is not trusted."""
    import requests

    def away(reason: str) -> ServerAway:
        return ServerAway(
            f"Kibana cannot be reached: {reason}", where=target.name, hint="is it running?"
        )

    def answer() -> requests.Response:
        try:
            response = post()
        except requests.exceptions.SSLError as error:
            raise EnvironmentLacks(
                "Kibana's certificate is not trusted",
                where=target.name,
                hint="name the authority's certificate with --ca",
            ) from error
        except requests.exceptions.RequestException as error:
            raise away(f"it does not answer ({type(error).__name__})") from error
        if response.status_code in AWAY:
            raise away(f"it answers {response.status_code}")
        return response

    return retry.call(
        answer,
        lambda error: isinstance(error, ServerAway),
        timeout_s=wait_s,
        first_s=_FIRST_PAUSE_S,
        longest_s=_LONGEST_PAUSE_S,
    )


def _refused(response: requests.Response, target: Target) -> EnvironmentLacks:
    """Return the error for an answer that is no success."""
    if response.status_code == 401:
        return EnvironmentLacks(
            "Kibana refuses access: the credentials are missing or wrong",
            where=target.name,
            hint=f"set {API_KEY}, or {USER} and {PASSWORD}",
        )
    message = _json(response, target).get("message", response.reason)
    return EnvironmentLacks(
        f"Kibana refuses ({response.status_code}): {message}", where=target.name
    )


def _json(response: requests.Response, target: Target) -> Mapping[str, Any]:
    """Return the JSON object of an answer. Raises EnvironmentLacks if it is none."""
    try:
        document = response.json()
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise EnvironmentLacks("this server is not Kibana", where=target.name)
    return document


def _result(document: Mapping[str, Any], target: Target) -> ImportResult:
    """Return the result of an import from Kibana's answer. Raises EnvironmentLacks for an answer
    that has another form."""
    count, found = document.get("successCount"), document.get("errors", [])
    if not isinstance(count, int) or not isinstance(found, list):
        raise EnvironmentLacks("this server is not Kibana", where=target.name)
    return ImportResult(count, tuple(_error(entry) for entry in found if isinstance(entry, dict)))


def _error(entry: Mapping[str, Any]) -> str:
    """Put one entry of `errors` in Kibana's answer into words. An entry that is not as documented
    is shown as it is."""
    found = entry.get("error")
    error: Mapping[str, Any] = found if isinstance(found, dict) else {}
    meta = entry.get("meta")
    title = (meta.get("title") if isinstance(meta, dict) else None) or entry.get("id")
    name = f"{entry.get('type')} {title!r}"
    match error.get("type"):
        case "conflict":
            return f"{name}: exists already; --overwrite replaces it"
        case "missing_references" if isinstance(error.get("references"), list):
            missing = ", ".join(_reference(reference) for reference in error["references"])
            return f"{name}: needs {missing}, which this Kibana does not have"
        case kind:
            return f"{name}: {error.get('message') or kind or entry}"


def _reference(reference: Any) -> str:
    """Name an object that is missing; anything that is not as documented is shown as it is."""
    if isinstance(reference, dict):
        return f"{reference.get('type')} {reference.get('id')}"
    return str(reference)
