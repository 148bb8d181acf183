"""Packets as they are captured: pcap files, what tcpdump says of a capture, and how one packet is
recognised at several places of a chain."""
