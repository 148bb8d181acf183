#!/usr/bin/env python3
"""My VNF: passes Ethernet frames on, and drops those that match a rule.

    vnf.py INGRESS EGRESS RULES

Replace it by your own program, in any language: workflow.json says how it is started.
"""

import json
import select
import socket
import sys
from pathlib import Path

ALL_FRAMES = 0x0003  # ETH_P_ALL, linux/if_ether.h
SO_RCVBUFFORCE = 33  # asm-generic/socket.h: as SO_RCVBUF, without the limit of net.core.rmem_max
BUFFER_BYTES = 8 << 20


def opened(interface: str) -> socket.socket:
    """Open a packet socket, which gets all frames of an interface."""
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_FRAMES))
    packets.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
    packets.bind((interface, 0))
    return packets


def count(counters: dict[str, int]) -> None:
    """Write the counters where the command `counters` of workflow.json finds them."""
    beside = Path("counters.json.new")
    beside.write_text(json.dumps(counters))
    beside.rename("counters.json")


def main(ingress: str, egress: str, number: int) -> None:
    """Pass frames on in both directions until a signal ends the program."""
    rules = [b"attack-%d" % n for n in range(number)]
    near, far = opened(ingress), opened(egress)
    other = {near: far, far: near}
    counters = {"frames_checked": 0, "frames_matched": 0}
    count(counters)
    print("ready", flush=True)
    while True:
        readable, _, _ = select.select(list(other), [], [], 0.1)
        if not readable:
            count(counters)
        for source in readable:
            frame, (_, _, kind, *_) = source.recvfrom(65_536)
            if kind == socket.PACKET_OUTGOING:
                continue  # sent by this program itself
            counters["frames_checked"] += 1
            if any(rule in frame for rule in rules):
                counters["frames_matched"] += 1
            else:
                other[source].send(frame)


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
