"""Reads a JSON document that a person wrote, and collects all its errors with their places."""

from sfcperf.workflow.document.findings import (
    Findings,
    SchemaViolation,
    choices,
    did_you_mean,
    listing,
)
from sfcperf.workflow.document.reader import read_document

__all__ = ["Findings", "SchemaViolation", "choices", "did_you_mean", "listing", "read_document"]
