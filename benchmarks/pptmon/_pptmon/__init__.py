"""Pieces of benchmarks/pptmon/paper_figures.py."""
