"""The verbs of `sfcperf`, one file each. Heavy imports are inside the functions."""
