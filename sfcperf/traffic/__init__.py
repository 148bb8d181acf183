"""Traffic with labels: real tools run against real servers in a network of our own, so that it is
known of each packet what kind it is."""
