"""Networks and ports."""
