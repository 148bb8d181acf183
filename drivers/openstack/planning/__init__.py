"""What a run needs."""
