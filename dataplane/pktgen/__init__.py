"""sfc-pktgen: the tool that sends packets at a set rate, and counts them where they arrive."""
