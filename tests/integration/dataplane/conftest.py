"""What tests of data planes between raw ends share."""

from __future__ import annotations

from support.network.wires import lab

__all__ = ["lab"]
