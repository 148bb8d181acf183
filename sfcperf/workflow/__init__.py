"""Workflow: load, expand, plan."""
