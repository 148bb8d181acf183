"""The IPS: attacks are dropped inline, NSH-unaware."""
