"""A JSON document that a person wrote: places in it, and all its errors at once."""

from sfcperf.workflow.document.findings import (
    Findings,
    SchemaViolation,
    choices,
    did_you_mean,
    listing,
)
from sfcperf.workflow.document.reader import read_document

__all__ = ["Findings", "SchemaViolation", "choices", "did_you_mean", "listing", "read_document"]
