"""What benchmarks of several subjects share."""
