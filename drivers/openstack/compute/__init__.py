"""Servers and guests."""
