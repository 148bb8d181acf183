"""Networks, ports and addresses of a run, by neutron."""
