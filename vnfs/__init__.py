"""Virtual network functions."""
