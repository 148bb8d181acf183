"""The firewall: kernel forwarding behind many rules, NSH-unaware."""
