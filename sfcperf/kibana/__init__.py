"""Kibana: data views and dashboards over the data streams, from one description (paper: the
visualization module is Kibana)."""
