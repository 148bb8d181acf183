"""The delay: a synthetic function with a known processing time, NSH-unaware."""
