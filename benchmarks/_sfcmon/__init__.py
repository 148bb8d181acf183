"""What the benchmarks of SFCMon share."""
