"""Heavy hitters on DPDK: a count-min sketch in a P4 pipeline, and the same in C."""
