"""Servers and browsers for tests."""
