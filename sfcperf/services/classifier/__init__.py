"""The classifier of the security chain: judges flow records, and has rules set against attacks."""
