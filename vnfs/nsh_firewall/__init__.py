"""The NSH-aware firewall: XDP, and rules that others set while it works."""
