"""A service function of nobody's framework: RFC 8300 by sockets and offsets alone.

    nsh_hop.py nsh-eth INTERFACE MAC [SFF_MAC]
    nsh_hop.py nsh-vxlan-gpe ADDRESS PORT SFF_ADDRESS

Environment: STEP, by how much the service index is decremented.
"""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress

ETH_P_NSH = 0x894F
PACKET_OUTGOING = 4
SI = 7
"""Offset of the service index in the NSH (section 2.3)."""
STEP = int(os.environ.get("STEP", "1"))


def on_ethernet(interface: str, mac: str, sff_mac: str | None = None) -> None:
    """Return frames to the SFF, or to where they came from."""
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_NSH))
    wire.bind((interface, ETH_P_NSH))
    own = bytes.fromhex(mac.replace(":", ""))
    sff = bytes.fromhex(sff_mac.replace(":", "")) if sff_mac else None
    print("forwarding", flush=True)
    while True:
        frame, (_, _, kind, *_) = wire.recvfrom(65535)
        if kind != PACKET_OUTGOING:
            nsh = bytearray(frame[14:])
            nsh[SI] -= STEP
            wire.send((sff or frame[6:12]) + own + frame[12:14] + nsh)


def in_vxlan_gpe(address: str, port: int, sff_address: str) -> None:
    """Return datagrams to the SFF: 8 bytes of VXLAN-GPE, then the NSH."""
    tunnel = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    tunnel.bind((address, port))
    print("forwarding", flush=True)
    while True:
        datagram = bytearray(tunnel.recv(65535))
        datagram[8 + SI] -= STEP
        tunnel.sendto(datagram, (sff_address, port))


if __name__ == "__main__":
    kind, *where = sys.argv[1:]
    with suppress(KeyboardInterrupt):
        if kind == "nsh-eth":
            on_ethernet(*where)
        else:
            in_vxlan_gpe(where[0], int(where[1]), where[2])
