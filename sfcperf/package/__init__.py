"""Reproducibility packages: pack runs, verify a package, replay it here and judge the outcome."""
