"""The SFC controller: REST resources in, P4Runtime table entries and windows of flows out."""
