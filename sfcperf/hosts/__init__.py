"""Hosts: where commands run."""
