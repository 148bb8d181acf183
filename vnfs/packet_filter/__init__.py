"""The kernel's packet filter, by which both firewalls block in plain IP."""
