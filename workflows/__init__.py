"""Ready experiments."""
