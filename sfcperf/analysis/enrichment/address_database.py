"""Tags of IP addresses from a database in MaxMind's format (mmdb), which the user supplies."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfcperf.analysis.enrichment.source_file import read_bytes, sha256
from sfcperf.analysis.enrichment.subjects import Subjects, at_path
from sfcperf.analysis.enrichment.tag import Harvest, Tag
from sfcperf.errors import InputError

if TYPE_CHECKING:
    import maxminddb


@dataclass(frozen=True)
class AddressDatabase:
    """An opened database."""

    file: str
    path: Path
    sha256: str
    fields: Mapping[str, str]
    """Tag -> path in the database's records, e.g. `country.iso_code`."""
    reader: maxminddb.Reader


def open_database(folder: Path, file: str, fields: Mapping[str, str]) -> AddressDatabase:
    """Raises InputError when it cannot be read or is no such database."""
    import maxminddb

    content = read_bytes(folder, file)
    try:
        reader = maxminddb.open_database(folder / file)
    except (maxminddb.InvalidDatabaseError, OSError, ValueError) as error:
        raise InputError(
            f"this is no MaxMind database: {error}", where=str(folder / file), allowed="mmdb"
        ) from error
    return AddressDatabase(file, folder / file, sha256(content), dict(fields), reader)


def harvest_database(database: AddressDatabase, subjects: Subjects) -> Harvest:
    """What a database says of the addresses of subjects, which are keyed by one column. Raises
    InputError when the database is damaged."""
    tags: list[Tag] = []
    matched, unmatched = 0, []
    for (address,), ids in subjects.by_key.items():
        found, reason = _look_up(database, address)
        if reason:
            unmatched.append(f"{address}: {reason}")
            continue
        matched += len(ids)
        tags += [
            Tag(subjects.kind, id, tag, value, database.file)
            for id in ids
            for tag, value in found.items()
        ]
    return Harvest(
        file=database.file,
        sha256=database.sha256,
        kind="mmdb",
        names=tuple(database.fields),
        tags=tuple(tags),
        matched=matched,
        unmatched_rows=(),
        unmatched_values=tuple(unmatched),
        without=subjects.without,
    )


def _look_up(database: AddressDatabase, text: str) -> tuple[dict[str, Any], str]:
    """Tags, or in words why there are none."""
    import maxminddb

    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return {}, "not an IP address"
    if address.version == 6 and database.reader.metadata().ip_version == 4:
        return {}, "the database has IPv4 addresses only"
    try:
        record = database.reader.get(address)
    except maxminddb.InvalidDatabaseError as error:
        raise InputError(f"the database is damaged: {error}", where=str(database.path)) from error
    if record is None:
        return {}, "not in the database"
    found = {tag: at_path(record, path) for tag, path in database.fields.items()}
    scalars = {
        tag: value for tag, value in found.items() if isinstance(value, str | int | float | bool)
    }
    if not scalars:
        return {}, "the database's record has none of these fields"
    return scalars, ""
