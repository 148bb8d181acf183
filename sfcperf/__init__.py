"""SFCPerf: performance evaluation of service function chains (papers: Sanz et al., SFCPerf)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfcperf.api import ComparisonResult, Run, compare, load, run

__all__ = ["ComparisonResult", "Run", "__version__", "compare", "load", "run"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # `sfcperf.api` imports much: only code that uses one of its names waits for that.
    if name in __all__:
        from sfcperf import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
