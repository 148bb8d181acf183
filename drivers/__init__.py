"""Infrastructure drivers."""
