"""Verbs of packages: pack, verify, replay."""
