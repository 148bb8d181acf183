"""Active data collection: probes."""
