"""Placeholders: `{{name}}` in a program's commands and files.

`${name}` is the workflow's own notation: a factor's level, which is replaced when scenarios are
made. What a placeholder stands for is known only when the function is attached to its chain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from sfcperf.dataplane.nsh import UDP_PORT
from sfcperf.errors import InputError, MeasurementError
from sfcperf.vnfs.base import Attachment
from sfcperf.workflow.document import choices
from sfcperf.workflow.references import level_text, strings

Texts = Mapping[str, Callable[[Attachment], str | None]]

_ANY: Texts = {
    "name": lambda attachment: attachment.name,
    "client": lambda attachment: attachment.client[0],
    "client_mac": lambda attachment: attachment.client[1],
    "server": lambda attachment: attachment.server[0],
    "server_mac": lambda attachment: attachment.server[1],
    "mtu": lambda attachment: str(attachment.mtu),
    "vcpus": lambda attachment: str(len(attachment.vcpus)),
    "cpus": lambda attachment: ",".join(map(str, attachment.vcpus)),
}
"""Placeholder that every program has -> its text. Programs run in their folder, so none is needed
for that."""
_BETWEEN: Texts = {
    "ingress": lambda attachment: attachment.interfaces[0],
    "egress": lambda attachment: attachment.interfaces[1],
    "ingress_mac": lambda attachment: attachment.macs[0],
    "egress_mac": lambda attachment: attachment.macs[1],
}
"""Those of programs between two interfaces."""
_AT_SFF: Texts = {
    "interface": lambda attachment: attachment.interfaces[0],
    "mac": lambda attachment: attachment.macs[0],
    "sff_mac": lambda attachment: attachment.sff_mac,
    "encapsulation": lambda attachment: attachment.encapsulation,
    "address": lambda attachment: attachment.address or "",
    "sff_address": lambda attachment: attachment.sff_address or "",
    "udp_port": lambda attachment: str(UDP_PORT),
}
"""Those of programs that get NSH frames. Addresses are empty without VXLAN-GPE."""

_PLACEHOLDER = re.compile(r"\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}")
_ALIKE = re.compile(r"\$(\w+)|\{(\w+)\}|<(\w+)>|\{\{ *(\w+) *\}\}")
"""What people write who mean a placeholder, as a whole word of a command."""


def of(attach: str) -> Texts:
    """Return the placeholders of a program with this knob `attach`, and what makes their texts."""
    return {**_ANY, **(_AT_SFF if attach == "nsh" else _BETWEEN)}


def check(value: Any, known: Collection[str], where: str) -> None:
    """Raise InputError for a placeholder anywhere in `value` that is not known. `where`: the knob
    that has the value."""
    for path, text in strings(value, (where,)):
        for name in _PLACEHOLDER.findall(text):
            if name not in known:
                raise InputError(
                    f"there is no {{{{{name}}}}}",
                    where="/".join(map(str, path)),
                    **choices(name, sorted(known)),
                )


def check_spelling(word: str, known: Collection[str], where: str) -> None:
    """Raise InputError for a word of a command that is a known placeholder in another spelling:
    `$ingress`, `{ingress}`. No shell would replace it."""
    match = _ALIKE.fullmatch(word)
    name = match[match.lastindex] if match is not None and match.lastindex else ""
    if name in known and word != f"{{{{{name}}}}}":
        raise InputError(f"{word!r} is not a placeholder", where=where, allowed=f"{{{{{name}}}}}")


def texts(attach: str, attachment: Attachment, values: Mapping[str, Any]) -> dict[str, str | None]:
    """Placeholder -> its text, or None if it has none here, for an instance with these values of
    its program's own knobs."""
    own = {name: level_text(value) for name, value in values.items()}
    return own | {name: text(attachment) for name, text in of(attach).items()}


def filled(text: str, known: Mapping[str, str | None]) -> str:
    """Replace the placeholders, all of which are known. Raises MeasurementError for one without a
    text."""
    return _PLACEHOLDER.sub(lambda match: _text(match[1], known), text)


def _text(name: str, known: Mapping[str, str | None]) -> str:
    text = known[name]
    if text is None:
        raise MeasurementError(
            f"{{{{{name}}}}} stands for nothing here: frames come from more than one address",
            hint="send each frame back to the address that it came from",
        )
    return text
