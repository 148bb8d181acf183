"""The local driver: chains in network namespaces of this machine."""
