"""The forwarder: decrements SI and returns the packet."""
