"""Verify a package: hashes, signature, documents, and whether summaries and figures follow."""

from sfcperf.package.verify.limited import verify_copy, verify_limited
from sfcperf.package.verify.verification import Verification, verify, verify_unpacked

__all__ = ["Verification", "verify", "verify_copy", "verify_limited", "verify_unpacked"]
