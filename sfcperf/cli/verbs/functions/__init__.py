"""Verbs of single network functions, and of traffic for them."""
