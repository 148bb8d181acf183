"""Analysis: from samples to results."""
