"""Verify a package without running anything that is in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sfcperf.errors import SfcperfError
from sfcperf.package.checks import Check
from sfcperf.package.layout import FORMAT, MAX_BYTES
from sfcperf.package.opened import Package, open_package
from sfcperf.package.signature import Keys, check_signature
from sfcperf.package.unpack import PackageCopy, private_copy, unpack
from sfcperf.package.verify.agreement import check_agreement
from sfcperf.package.verify.crate_check import check_crate
from sfcperf.package.verify.document_check import check_documents
from sfcperf.package.verify.hashes import check_hashes
from sfcperf.package.verify.other_files import check_other_files
from sfcperf.package.verify.remake_claims import check_claims
from sfcperf.package.verify.remake_figures import check_figures
from sfcperf.package.verify.remake_summaries import check_summaries


@dataclass(frozen=True)
class Verification:
    """The checks of a package, in their order."""

    package: Path
    """The user's package, of which a private copy was checked."""
    checks: tuple[Check, ...]
    warnings: tuple[str, ...]
    """Warnings that the package declares."""

    @property
    def holds(self) -> bool:
        """Whether no check failed."""
        return all(check.state != "failed" for check in self.checks)

    def document(self) -> dict[str, Any]:
        """Return the checks as JSON, as schemas/verification.schema.json describes it."""
        return {
            "schema_version": FORMAT,
            "package": self.package.name,
            "holds": self.holds,
            "checks": [{**asdict(c), "findings": list(c.findings)} for c in self.checks],
            "warnings": list(self.warnings),
        }

    @classmethod
    def of_document(cls, package: Path, document: Mapping[str, Any]) -> Verification:
        """Make a verification from what `document` returned."""
        checks = [Check(**{**c, "findings": tuple(c["findings"])}) for c in document["checks"]]
        return cls(package, tuple(checks), tuple(document["warnings"]))


def verify(
    path: Path,
    *,
    allowed_signers: Path | None = None,
    public_key: str | None = None,
    max_bytes: int = MAX_BYTES,
) -> Verification:
    """Check a package in this process: nothing in it is executed, imported, or fetched. The checks
    may take much memory or time: for a package of a stranger use `verify_limited`.

    Raises InputError when it is not a package, is malicious or of a newer SFCPerf; EnvironmentLacks
    when a tool for its signature is missing.
    """
    with private_copy(path, max_bytes=max_bytes) as copy:
        keys = Keys(allowed_signers, public_key).copied(copy.folder.parent)
        unpack(copy.file, copy.folder, max_bytes=max_bytes)
        return verify_unpacked(copy, keys)


def verify_unpacked(copy: PackageCopy, keys: Keys) -> Verification:
    """Check a package as `verify` does. `unpack` has unpacked its private copy already."""
    folder = copy.folder
    package = open_package(folder)
    names = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    hashes, files = check_hashes(folder, names)
    signature = check_signature(
        copy.file, allowed_signers=keys.allowed_signers, public_key=keys.public_key
    )
    checks = [hashes, signature, check_crate(package, files)]
    documents = check_documents(package)
    checks.append(documents)
    derived = {
        "agreement": check_agreement,
        "summaries": check_summaries,
        "claims": check_claims,
        "figures": check_figures,
        "other files": lambda opened: check_other_files(opened, names),
    }
    for name, check in derived.items():
        checks.append(_derived(name, check, package, documents))
    shown = tuple(_without_folder(check, folder) for check in checks)
    return Verification(copy.source, shown, tuple(package.document["warnings"]))


def _without_folder(check: Check, folder: Path) -> Check:
    """Name files in a check's texts by their paths in the package, not in the private folder."""
    inside = f"{folder}/"
    findings = tuple(text.replace(inside, "") for text in check.findings)
    return replace(check, detail=check.detail.replace(inside, ""), findings=findings)


def _derived(
    name: str, check: Callable[[Package], Check], package: Package, documents: Check
) -> Check:
    """Run a check that reads the documents of the runs; `not checked` if these are damaged."""
    if documents.state != "ok":
        return Check(name, "not checked", "the documents that they are made from are damaged")
    try:
        return check(package)
    except SfcperfError as error:
        return Check(name, "failed", str(error))
