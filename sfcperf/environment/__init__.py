"""What a machine must offer: the checks behind `sfcperf doctor`, shared with the pre-run check."""
