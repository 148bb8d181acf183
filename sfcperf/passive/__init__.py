"""Passive data collection: monitors."""
