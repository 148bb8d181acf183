"""Cleanup: remove what a run made in clouds, and on existing machines, by its journal alone."""
