"""Verify a package without running anything that is in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sfcperf.errors import SfcperfError
from sfcperf.package.checks import Check
from sfcperf.package.layout import FORMAT, MAX_BYTES
from sfcperf.package.opened import Package, open_package
from sfcperf.package.signature import check_signature
from sfcperf.package.unpack import unpacked
from sfcperf.package.verify.crate_check import check_crate
from sfcperf.package.verify.document_check import check_documents
from sfcperf.package.verify.hashes import check_hashes
from sfcperf.package.verify.remake_figures import check_figures
from sfcperf.package.verify.remake_summaries import check_summaries


@dataclass(frozen=True)
class Verification:
    """The checks of a package, in their order."""

    package: Path
    checks: tuple[Check, ...]
    warnings: tuple[str, ...]
    """Warnings that the package declares."""

    @property
    def holds(self) -> bool:
        """No check failed."""
        return all(check.state != "failed" for check in self.checks)

    def document(self) -> dict[str, Any]:
        """The document of schemas/verification.schema.json."""
        return {
            "schema_version": FORMAT,
            "package": self.package.name,
            "holds": self.holds,
            "checks": [{**asdict(c), "findings": list(c.findings)} for c in self.checks],
            "warnings": list(self.warnings),
        }


def verify(
    path: Path,
    *,
    allowed_signers: Path | None = None,
    public_key: str | None = None,
    max_bytes: int = MAX_BYTES,
) -> Verification:
    """Check a package: nothing in it is executed, imported, or fetched.

    Raises InputError when it is not a package, is malicious or of a newer SFCPerf; EnvironmentLacks
    when a tool for its signature is missing.
    """
    with unpacked(path, max_bytes=max_bytes) as folder:
        return verify_unpacked(path, folder, allowed_signers, public_key)


def verify_unpacked(
    path: Path,
    folder: Path,
    allowed_signers: Path | None = None,
    public_key: str | None = None,
) -> Verification:
    """Like `verify`, for a package that `unpack` has unpacked into `folder`."""
    package = open_package(folder)
    names = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    signature = check_signature(path, allowed_signers=allowed_signers, public_key=public_key)
    checks = [check_hashes(folder, names), signature, check_crate(folder, names)]
    documents = check_documents(package)
    checks.append(documents)
    for name, check in (("summaries", check_summaries), ("figures", check_figures)):
        checks.append(_derived(name, check, package, documents))
    return Verification(path, tuple(checks), tuple(package.document["warnings"]))


def _derived(
    name: str, check: Callable[[Package], Check], package: Package, documents: Check
) -> Check:
    if documents.state != "ok":
        return Check(name, "not checked", "the documents that they are made from are damaged")
    try:
        return check(package)
    except SfcperfError as error:
        return Check(name, "failed", str(error))
