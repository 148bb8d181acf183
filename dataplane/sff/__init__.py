"""sfc-sff: classifier, SFF and SFC proxy of a node, in XDP and tc."""
