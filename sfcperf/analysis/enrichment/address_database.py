"""Tags of IP addresses from a database in MaxMind's format (mmdb), which the user supplies."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from sfcperf.analysis.enrichment.tags import Subjects, Tag, TagFile, TagMatches, read_bytes
from sfcperf.errors import InputError
from sfcperf.results.documents import at_path

if TYPE_CHECKING:
    import maxminddb


@dataclass(frozen=True)
class AddressDatabase(TagFile):
    """An opened database of tags by IP address."""

    kind: ClassVar[Literal["csv", "mmdb"]] = "mmdb"

    path: Path
    fields: Mapping[str, str]
    """Tag -> path in the database's records, e.g. `country.iso_code`."""
    reader: maxminddb.Reader

    def match(self, subjects: Subjects) -> TagMatches:
        """Return the tags of the subjects, whose key is one column with addresses. Raises
        InputError if the database is damaged."""
        tags: list[Tag] = []
        matched, unmatched = 0, []
        for (address,), ids in subjects.by_key.items():
            tag_values, reason = self._look_up(address)
            if reason:
                unmatched.append(f"{address}: {reason}")
                continue
            matched += len(ids)
            tags += [
                Tag(subjects.kind, id, tag, value, self.file)
                for id in ids
                for tag, value in tag_values.items()
            ]
        return TagMatches(tags, matched, unmatched)

    def _look_up(self, text: str) -> tuple[dict[str, Any], str]:
        """Look up the address `text`. Return its tags and an empty reason, or no tags and the
        reason why. Raises InputError if the database is damaged."""
        import maxminddb

        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return {}, "not an IP address"
        if address.version == 6 and self.reader.metadata().ip_version == 4:
            return {}, "the database has IPv4 addresses only"
        try:
            record = self.reader.get(address)
        except maxminddb.InvalidDatabaseError as error:
            raise InputError(f"the database is damaged: {error}", where=str(self.path)) from error
        if record is None:
            return {}, "not in the database"
        values = {tag: at_path(record, path) for tag, path in self.fields.items()}
        tags = {
            tag: value
            for tag, value in values.items()
            if isinstance(value, str | int | float | bool)
        }
        if not tags:
            return {}, "the database's record has none of these fields"
        return tags, ""


def open_database(
    folder: Path, file: str, column: str, fields: Mapping[str, str]
) -> AddressDatabase:
    """Open a database. `column`: column of trials, or `source`, with the addresses; `fields`: tag
    -> path in the database's records. Raises InputError if the file cannot be read or is not in
    MaxMind's format."""
    import maxminddb

    _, sha256 = read_bytes(folder, file)
    path = folder / file
    try:
        reader = maxminddb.open_database(path)
    except (maxminddb.InvalidDatabaseError, OSError, ValueError) as error:
        raise InputError(
            f"this is not a MaxMind database: {error}", where=str(path), allowed="mmdb"
        ) from error
    names = tuple(fields)
    return AddressDatabase(file, sha256, (column,), names, path, dict(fields), reader)
