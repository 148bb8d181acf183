"""A driver for SFCPerf: chains by the policy routing of the Linux kernel."""
