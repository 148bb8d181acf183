"""Probabilistic data structures for streams of packets, and the mathematics of their sizes."""
