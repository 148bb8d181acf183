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
"""An action of a bulk request: `{"create": {"_id": ...}}`, and the document as JSON text. That is
None for an action without a document."""
_LONGEST_REASON = 500
"""Largest number of characters that a message quotes of what a server says."""
_HINT = "is something between this machine and the server? Look at the server's log"


class DeliveryFailed(EnvironmentLacks):
    """The cluster did not take what was sent, and the run is not to blame: it is kept and sent
    later."""


def part(answer: Any, kind: type[T], *path: str) -> T:
    """Return what an answer has at a path of keys. Raises DeliveryFailed when there is nothing, or
    something of another type than `kind`."""
    found = getattr(answer, "body", answer)
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    # Python takes a bool for an int, but in JSON it is no number.
    if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
        raise DeliveryFailed(
            f"this is not an answer of Elasticsearch: it has no {'.'.join(path)}", hint=_HINT
        )
    return found


def acknowledged(answer: Any) -> None:
    """Raise DeliveryFailed unless the server says that it has done what it was asked for."""
    if not part(answer, bool, "acknowledged"):
        raise DeliveryFailed("the server did not acknowledge a change in time")


def hits(answer: Any) -> list[Mapping[str, Any]]:
    """Return the hits of a search; each has `_id` and `_index`. Raises DeliveryFailed if the
    answer has another form."""
    found = part(answer, list, "hits", "hits")
    for hit in found:
        part(hit, str, "_id")
        part(hit, str, "_index")
    return found


def bulk(
    client: Elasticsearch, actions: Sequence[Action], **options: Any
) -> list[Mapping[str, Any]]:
    """Send actions in one request; return the result of each, which has an integer `status`.
    `options` are further arguments of the client's `bulk`.

    Raises DeliveryFailed, and what the client raises.
    """
    lines: list[Any] = [line for action in actions for line in action if line is not None]
    items = part(client.bulk(operations=lines, **options), list, "items")
    if len(items) != len(actions):
        raise DeliveryFailed(
            f"the server answered {len(actions)} documents with {len(items)} results", hint=_HINT
        )
    results = []
    for item, (header, _) in zip(items, actions, strict=True):
        # The server puts each result below the kind of its action, such as `create`.
        [kind] = header
        part(item, int, kind, "status")
        results.append(item[kind])
    return results


def reason(document: Any) -> str:
    """Return why the server refuses, in its own words, shortened and printable. `document`: its
    answer, or one result of a bulk request."""
    error = document.get("error") if isinstance(document, Mapping) else None
    found = error.get("reason") if isinstance(error, Mapping) else error
    return shortened(printable(str(found)), _LONGEST_REASON) if found else "it does not say why"
