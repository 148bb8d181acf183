"""A workflow from its file, as the command line reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfcperf.workflow.document import read_document
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Workflow


def load_workflow(path: Path, **options: Any) -> Workflow:
    """`options` are those of load_document."""
    return load_document(read_document(path), path.resolve().parent, **options)
