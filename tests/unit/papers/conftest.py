from __future__ import annotations

from support.bench import bench

__all__ = ["bench"]
