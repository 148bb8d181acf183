"""What is known of a workflow before it runs, and is no error."""

from __future__ import annotations

from sfcperf.cli.terminal.lines import say
from sfcperf.control.validation import warnings
from sfcperf.workflow.model import Workflow


def say_warnings(workflow: Workflow) -> None:
    """Print the warnings about a workflow on stderr, as `sfcperf run` does before it begins."""
    for line in warnings(workflow):
        say(line)
