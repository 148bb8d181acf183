"""Files for Arrow, which takes a path for UTF-8 text; on Linux it is bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.dataset


def arrow_input(path: Path) -> pyarrow.NativeFile:
    """Open a file for Arrow to read, whatever bytes its path has. Raises OSError."""
    import pyarrow

    return pyarrow.OSFile(os.fsencode(path))


def arrow_output(path: Path) -> pyarrow.NativeFile:
    """Open a file for Arrow to write, whatever bytes its path has. The caller closes it. Raises
    OSError."""
    import pyarrow

    return pyarrow.OSFile(os.fsencode(path), "wb")


def arrow_dataset(path: Path) -> pyarrow.dataset.Dataset:
    """Return the rows of a Parquet file, which are read on demand. Raises OSError and
    ArrowException."""
    from pyarrow import dataset

    parquet = dataset.ParquetFileFormat()
    if str(path).isprintable():
        return dataset.dataset(str(path.absolute()), format=parquet)
    # Arrow needs a path in UTF-8. An open file works with any name, but keeps a descriptor open as
    # long as the rows are used.
    whole = parquet.make_fragment(arrow_input(path))
    return dataset.FileSystemDataset([whole], whole.physical_schema, parquet)
