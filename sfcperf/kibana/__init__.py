"""Kibana: data views and dashboards over the data streams (paper: the visualization module is
Kibana), and their import.

Imports `sfcperf.presentation` of the packages that show results, and `sfcperf.elasticsearch` for
the fields that documents have.
"""

from sfcperf.kibana.client import import_objects
from sfcperf.kibana.dashboards import saved_objects
from sfcperf.kibana.saved_objects import ndjson

__all__ = ["import_objects", "ndjson", "saved_objects"]
