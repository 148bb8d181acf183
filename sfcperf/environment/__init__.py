"""What a machine must offer: the checks behind `sfcperf doctor`, shared with the pre-run check."""

from sfcperf.environment.gather import requirements_for

__all__ = ["requirements_for"]
