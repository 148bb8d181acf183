"""The router: plain kernel forwarding, NSH-unaware."""
