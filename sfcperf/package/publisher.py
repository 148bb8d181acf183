"""PackagePublisher: the run as a package, in its own folder, as soon as it is done."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from sfcperf.plugins import array, flag, object_schema
from sfcperf.results.publisher import Publisher
from sfcperf.results.store import RunStore


class PackagePublisher(Publisher):
    """Writes package.zip into the run folder. To sign a package, use `sfcperf pack --sign`, which
    can ask for the password of the key."""

    name: ClassVar[str] = "package"
    title: ClassVar[str] = "Reproducibility package (RO-Crate) of the run, in the run folder"
    parameters = object_schema(
        {
            "license": {
                "description": "SPDX identifier of the package's licence. Default: none.",
                "type": "string",
                "pattern": "^[A-Za-z0-9][A-Za-z0-9.+-]*$",
            },
            "authors": array(
                "Authors, each `Name` or `Name <ORCID>`.",
                {"type": "string", "minLength": 1},
                default=[],
            ),
            "captures": flag("Whether to pack captures; if not, only their SHA-256.", default=True),
            "large_files": flag(
                "Whether to pack files above 16 MiB that the workflow names; if not, only their "
                "SHA-256."
            ),
        }
    )

    def publish(self, run: RunStore) -> list[Path]:
        """Pack the run, with what publishers wrote that the workflow names before this one.

        Raises as `sfcperf.package.pack.pack`.
        """
        from sfcperf.package.pack import pack
        from sfcperf.package.pack_document import PackOptions
        from sfcperf.package.people import author
        from sfcperf.package.run_files import PACKAGE

        options = PackOptions(
            license=self.parameters.get("license"),
            authors=tuple(map(author, self.parameters.get("authors", ()))),
            without=frozenset(() if self.parameters.get("captures", True) else ("captures",)),
            large_files=self.parameters.get("large_files", False),
            overwrite=True,
        )
        return [pack([run], run.folder / PACKAGE, options, own_lock=True).path]
