"""Service `kafka`: a broker of the run's own, or topics on a cluster that exists."""
