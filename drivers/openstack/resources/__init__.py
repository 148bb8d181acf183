"""Resources by kind."""
