"""Captured packets: reading pcap files and tcpdump's counts, and recognising one packet at several
places."""
