"""Resources of a cloud: found by kind and exact name, created once, deleted; the run's context."""
