"""Pieces of benchmarks/pptmon.py."""
