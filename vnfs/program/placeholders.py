"""Placeholders: `{{name}}` in a program's commands and files.

`${name}` is the workflow's own notation: a factor's level, which is replaced when scenarios are
made. What a placeholder stands for is known only when the function is attached to its chain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from sfcperf.errors import InputError
from sfcperf.vnfs.base import Attachment
from sfcperf.workflow.document import choices
from sfcperf.workflow.references import level_text, strings

OF_ATTACHMENT: Mapping[str, Callable[[Attachment], str]] = {
    "name": lambda attachment: attachment.name,
    "ingress": lambda attachment: attachment.interfaces[0],
    "egress": lambda attachment: attachment.interfaces[1],
    "ingress_mac": lambda attachment: attachment.macs[0],
    "egress_mac": lambda attachment: attachment.macs[1],
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

_PLACEHOLDER = re.compile(r"\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}")
_ALIKE = re.compile(r"\$(\w+)|\{(\w+)\}|<(\w+)>|\{\{ *(\w+) *\}\}")
"""What people write who mean a placeholder, as a whole word of a command."""


def check(value: Any, known: Collection[str], where: str) -> None:
    """Raise InputError for a placeholder anywhere in `value` that is not known. `where`: the knob
    that has the value."""
    for path, text in strings(value, (where,)):
        for name in _PLACEHOLDER.findall(text):
            if name not in known:
                raise InputError(
                    f"there is no {{{{{name}}}}}",
                    where="/".join(map(str, path)),
                    **choices(name, known),
                )


def check_spelling(word: str, known: Collection[str], where: str) -> None:
    """Raise InputError for a word of a command that is a known placeholder in another spelling:
    `$ingress`, `{ingress}`. No shell would replace it."""
    match = _ALIKE.fullmatch(word)
    name = match[match.lastindex] if match is not None and match.lastindex else ""
    if name in known and word != f"{{{{{name}}}}}":
        raise InputError(f"{word!r} is not a placeholder", where=where, allowed=f"{{{{{name}}}}}")


def texts(attachment: Attachment, values: Mapping[str, Any]) -> dict[str, str]:
    """Placeholder -> its text, for an instance with these values of its program's own knobs."""
    own = {name: level_text(value) for name, value in values.items()}
    return own | {name: text(attachment) for name, text in OF_ATTACHMENT.items()}


def filled(text: str, known: Mapping[str, str]) -> str:
    """Replace the placeholders, all of which are known."""
    return _PLACEHOLDER.sub(lambda match: known[match[1]], text)
