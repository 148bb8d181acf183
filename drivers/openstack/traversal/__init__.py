"""Proof of traversal."""
