"""Cables, remote machines and packets for tests."""
