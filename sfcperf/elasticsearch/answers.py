"""What a server answers, checked for its form before it is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from sfcperf.errors import EnvironmentLacks
from sfcperf.presentation.wording import printable, shortened

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

T = TypeVar("T")
Action = tuple[Mapping[str, Mapping[str, Any]], str | None]
"""Of a bulk request: `{"create": {"_id": ...}}` and the document, if the action has one."""
_LONGEST_REASON = 500
"""Characters of what a server says that a message quotes."""
_HINT = "is something between this machine and the server? Look at the server's log"


class DeliveryRefused(EnvironmentLacks):
    """The cluster did not take what was sent, and the run is not to blame: it waits."""


def part(answer: Any, kind: type[T], *path: str) -> T:
    """What an answer has at a path. Raises DeliveryRefused when it is not there, or of another
    type."""
    found = getattr(answer, "body", answer)
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
        raise DeliveryRefused(
            f"this is not an answer of Elasticsearch: it has no {'.'.join(path)}", hint=_HINT
        )
    return found


def acknowledged(answer: Any) -> None:
    """Raises DeliveryRefused unless the server says that it has done what it was asked for."""
    if not part(answer, bool, "acknowledged"):
        raise DeliveryRefused("the server did not acknowledge a change in time")


def hits(answer: Any) -> list[Mapping[str, Any]]:
    """Of a search; each has `_id` and `_index`. Raises DeliveryRefused."""
    found = part(answer, list, "hits", "hits")
    for hit in found:
        part(hit, str, "_id")
        part(hit, str, "_index")
    return found


def bulk(
    client: Elasticsearch, actions: Sequence[Action], **options: Any
) -> list[Mapping[str, Any]]:
    """Send actions in one request; gives the result of each, which has an integer `status`.

    Raises DeliveryRefused, and what the client raises.
    """
    lines: list[Any] = [line for action in actions for line in action if line is not None]
    items = part(client.bulk(operations=lines, **options), list, "items")
    if len(items) != len(actions):
        raise DeliveryRefused(
            f"the server answered {len(actions)} documents with {len(items)} results", hint=_HINT
        )
    results = []
    for item, (header, _) in zip(items, actions, strict=True):
        [kind] = header
        part(item, int, kind, "status")
        results.append(item[kind])
    return results


def reason(document: Any) -> str:
    """Why the server refuses, from its answer or from one result of it; short, and printable."""
    error = document.get("error") if isinstance(document, Mapping) else None
    found = error.get("reason") if isinstance(error, Mapping) else error
    return shortened(printable(str(found)), _LONGEST_REASON) if found else "it does not say why"
