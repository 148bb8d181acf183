"""The store: run folders."""
