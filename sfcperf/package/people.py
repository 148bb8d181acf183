"""Who made a package and what others may do with it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sfcperf.errors import InputError

_AUTHOR = re.compile(r"\s*([^<>]+?)\s*(?:<\s*(?:https://orcid\.org/)?([0-9X-]+)\s*>)?\s*")
_ORCID = re.compile(r"[0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{3}[0-9X]")
_SPDX = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")


@dataclass(frozen=True)
class Author:
    """An author of a package."""

    name: str
    """`Given Names Family`, or `Family Names, Given Names` where the family name has several
    words."""
    orcid: str | None = None
    """ORCID, such as `0000-0002-1825-0097`; None: the author gave none."""

    @property
    def id(self) -> str:
        """Identifier in the RO-Crate: the ORCID's address, or one made from the name."""
        if self.orcid is not None:
            return f"https://orcid.org/{self.orcid}"
        return "#person-" + "-".join(re.findall(r"\w+", self.name.lower()))

    @property
    def family_name(self) -> str:
        """What is before the comma; without one, the last word."""
        before, comma, _ = self.name.partition(",")
        return before.strip() if comma and before.strip() else self.name.split()[-1]

    @property
    def given_name(self) -> str:
        """The rest of the name; empty for a name of one word."""
        before, comma, after = self.name.partition(",")
        return after.strip() if comma and before.strip() else " ".join(self.name.split()[:-1])


def author(text: str) -> Author:
    """Parse `Name` or `Name <ORCID>`. Raises InputError."""
    match = _AUTHOR.fullmatch(text)
    if match is None or not match[1].isprintable():
        raise InputError(
            f"{text!r} is not an author", allowed="'Name' or 'Name <0000-0002-1825-0097>'"
        )
    name, orcid = match.groups()
    if orcid is not None and not is_orcid(orcid):
        raise InputError(
            f"{orcid} is not an ORCID: its format or its check digit is wrong",
            where=f"author {name}",
            allowed="such as 0000-0002-1825-0097",
        )
    return Author(name, orcid)


def is_orcid(text: str) -> bool:
    """Whether a text has the form of an ORCID and the right check digit (ISO 7064 MOD 11-2, as
    orcid.org describes it)."""
    if not _ORCID.fullmatch(text):
        return False
    total = 0
    digits = text.replace("-", "")
    for digit in digits[:-1]:
        total = (total + int(digit)) * 2
    rest = (12 - total % 11) % 11
    return digits[-1] == ("X" if rest == 10 else str(rest))


def licence(text: str | None) -> str | None:
    """Return an SPDX identifier unchanged; None stays None. Raises InputError for a text that has
    not its form. Whether it is on SPDX's list of licences is not looked up."""
    if text is not None and not _SPDX.fullmatch(text):
        raise InputError(
            f"{text!r} is not an SPDX licence identifier",
            where="--license",
            allowed="such as CC-BY-4.0 (https://spdx.org/licenses/)",
        )
    return text
