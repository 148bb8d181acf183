"""The NAT: kernel forwarding with connection tracking, NSH-unaware."""
