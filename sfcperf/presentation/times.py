"""Moments and durations of records (ISO 8601) as people read them."""

from __future__ import annotations

from datetime import datetime


def clock(moment: str) -> str:
    """Time of day, `12:34:56`."""
    return moment[11:19]


def duration(start: str, end: str) -> str:
    """Between two moments, seconds with one digit after the point."""
    return f"{seconds(start, end):.1f}"


def seconds(start: str, end: str) -> float:
    """Between two moments [s]."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
