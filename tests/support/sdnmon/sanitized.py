"""sfc-sdnmon-agent with AddressSanitizer and UndefinedBehaviorSanitizer."""

from __future__ import annotations

from support.sanitized import built
from support.sdnmon.agent import TOOL


def sanitized() -> list[str]:
    """The command; compiled if a source has changed since. A finding ends the process."""
    program = built(TOOL) / TOOL
    # What is freed is kept for a while: a little of it, so that memory can be judged.
    return ["env", "ASAN_OPTIONS=quarantine_size_mb=1", str(program)]
