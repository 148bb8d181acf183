"""Packets of a Parquet file, as the simulator reads them."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from sfcperf.errors import InputError
from sfcperf.results.tables.arrow_files import arrow_input

COLUMNS = ("ts_ns", "src_ip", "dst_ip", "proto", "src_port", "dst_port", "size_bytes")
"""Columns of the file, which CSV files have too; addresses are text, ports may be missing."""
MAGIC = b"SFCMONR1"
"""First bytes of a trace whose packets are records."""
RECORD = np.dtype(
    [
        ("ts_ns", "=u8"),
        ("size_bytes", "=u4"),
        ("src_port", "=u2"),
        ("dst_port", "=u2"),
        ("version", "u1"),
        ("proto", "u1"),
        ("zero", "6u1"),
        ("src_ip", "16u1"),
        ("dst_ip", "16u1"),
    ]
)
"""A packet as the simulator reads it: `struct record` in simulator/trace.c."""
_ROWS = 65536
"""Most packets in one piece."""


def records(path: Path) -> Iterator[bytes]:
    """Yield the magic number, then the packets of the file as records, many at a time. Raises
    InputError."""
    try:
        file = pyarrow.parquet.ParquetFile(arrow_input(path))
        missing = [name for name in COLUMNS if name not in file.schema_arrow.names]
        if missing:
            raise InputError(
                f"there is no column {missing[0]}", where=str(path), allowed=", ".join(COLUMNS)
            )
        yield MAGIC
        for batch in file.iter_batches(_ROWS, columns=list(COLUMNS)):
            yield _packed(batch, path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"not readable as Parquet: {error}", where=str(path)) from error


def _packed(batch: Any, path: Path) -> bytes:
    """Return the packets of a batch as records for the simulator. Raises InputError."""
    packed = np.zeros(batch.num_rows, RECORD)
    for name in ("ts_ns", "size_bytes", "proto", "src_port", "dst_port"):
        column = batch.column(name)
        if name.endswith("port"):
            column = column.fill_null(0)
        kind = pa.from_numpy_dtype(RECORD[name])
        try:
            packed[name] = _complete(column, name, path).cast(kind).to_numpy()
        except pa.ArrowInvalid as error:
            raise InputError(f"column {name}: {error}", where=str(path)) from error
    for name in ("src_ip", "dst_ip"):
        _fill_addresses(_complete(batch.column(name), name, path), name, packed, path)
    return packed.tobytes()


def _complete(column: Any, name: str, path: Path) -> Any:
    """Return the column, in which no row may be without a value. Raises InputError."""
    if column.null_count:
        raise InputError(f"column {name} has rows without a value", where=str(path))
    return column


def _fill_addresses(column: Any, name: str, packed: Any, path: Path) -> None:
    """Parse a column of addresses as text, without nulls, into the field `name` of `packed`, and
    their IP versions into its field `version`. `src_ip` has to come before `dst_ip`, whose versions
    are compared with those that it left. Few addresses are different, so each is parsed once.
    Raises InputError for a column of another type, for text that is no address, and for versions
    that differ."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    kind = encoded.dictionary.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise InputError(
            f"column {name} has the type {kind}",
            where=str(path),
            allowed="text: an address such as 192.0.2.1 or 2001:db8::1",
        )
    texts = encoded.dictionary.to_pylist()
    known = np.zeros((len(texts), 16), np.uint8)
    versions = np.zeros(len(texts), np.uint8)
    for number, text in enumerate(texts):
        try:
            address = ip_address(text)
        except ValueError as error:
            raise InputError(f"column {name}: {error}", where=str(path)) from error
        # An IPv4 address takes the first 4 of the 16 bytes.
        known[number, : len(address.packed)] = np.frombuffer(address.packed, np.uint8)
        versions[number] = address.version
    index = encoded.indices.to_numpy()
    packed[name] = known[index]
    column_versions = versions[index]
    if name == "dst_ip" and (column_versions != packed["version"]).any():
        raise InputError("src_ip and dst_ip differ in their IP version", where=str(path))
    packed["version"] = column_versions
