"""Runs in Elasticsearch: what is kept there, how it gets there exactly once, how it is checked."""
