"""Merging: what probes measured beside what monitors saw meanwhile (paper: analysis module)."""
