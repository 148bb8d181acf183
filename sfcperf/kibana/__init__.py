"""Kibana, the paper's visualization module: data views, dashboards, and their import."""

from sfcperf.kibana.client import import_objects
from sfcperf.kibana.dashboards import saved_objects
from sfcperf.kibana.saved_objects import ndjson

__all__ = ["import_objects", "ndjson", "saved_objects"]
