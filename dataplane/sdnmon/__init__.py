"""SDN-Mon: monitoring of a switch by flows, apart from its forwarding."""
