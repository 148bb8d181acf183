"""The load balancer: destination NAT to several ports of the server, NSH-unaware."""
