"""Captured packets: pcap files, tcpdump's counts, one packet recognised at several places."""
