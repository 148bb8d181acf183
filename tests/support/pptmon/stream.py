"""One end of a stream, run in a namespace: prints how many bytes there were and their SHA-256.

    stream.py send tcp ADDRESS PORT BYTES
    stream.py receive tcp ADDRESS PORT
    stream.py send udp ADDRESS PORT BYTES SIZE [SEGMENT]
    stream.py receive udp ADDRESS PORT

UDP datagrams begin with their number, are SIZE bytes long, and what they carry follows from the
number, so that a receiver knows which are whole. With SEGMENT, the kernel cuts them (UDP_SEGMENT).
"""

from __future__ import annotations

import contextlib
import hashlib
import random
import socket
import struct
import sys
import time

_CHUNK = 1 << 20
_UDP_SEGMENT = 103
_LAST = b"last datagram"
_NUMBER = struct.Struct("!Q")


def family(address: str) -> int:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def say(count: int, digest: str) -> None:
    print(count, digest, flush=True)


def send_tcp(address: str, port: int, count: int) -> None:
    digest, block = hashlib.sha256(), random.Random(port).randbytes(_CHUNK)
    with socket.create_connection((address, port), timeout=60) as made:
        for number in range(count // _CHUNK):
            piece = _NUMBER.pack(number) + block[_NUMBER.size :]
            digest.update(piece)
            made.sendall(piece)
        made.shutdown(socket.SHUT_WR)
        made.recv(1)
    say(count // _CHUNK * _CHUNK, digest.hexdigest())


def receive_tcp(address: str, port: int) -> None:
    digest, count, buffer = hashlib.sha256(), 0, bytearray(_CHUNK)
    with socket.create_server((address, port), family=family(address)) as server:
        server.settimeout(60)
        print("listening", flush=True)
        made, _ = server.accept()
    with made:
        made.settimeout(60)
        while size := made.recv_into(buffer):
            digest.update(memoryview(buffer)[:size])
            count += size
        made.sendall(b"!")
    say(count, digest.hexdigest())


def datagram(number: int, size: int) -> bytes:
    """What follows from the number."""
    head = _NUMBER.pack(number)
    return (head + hashlib.sha256(head).digest() * (size // 32 + 1))[:size]


def send_udp(address: str, port: int, count: int, size: int, segment: int) -> None:
    with socket.socket(family(address), socket.SOCK_DGRAM) as made:
        if segment:
            made.setsockopt(socket.IPPROTO_UDP, _UDP_SEGMENT, size)
        made.connect((address, port))
        at_once = max(1, segment)
        for first in range(0, count, at_once):
            made.send(b"".join(datagram(n, size) for n in range(first, first + at_once)))
            time.sleep(0.0005)
        if segment:
            made.setsockopt(socket.IPPROTO_UDP, _UDP_SEGMENT, 0)
        for _ in range(5):
            time.sleep(0.05)
            with contextlib.suppress(ConnectionRefusedError):  # it has heard one before
                made.send(_LAST)
    say(count, "")


def receive_udp(address: str, port: int) -> None:
    whole, wrong = 0, 0
    with socket.socket(family(address), socket.SOCK_DGRAM) as made:
        made.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
        made.bind((address, port))
        made.settimeout(60)
        print("listening", flush=True)
        while (data := made.recv(65536)) != _LAST:
            if data == datagram(_NUMBER.unpack(data[:8])[0], len(data)):
                whole += 1
            else:
                wrong += 1
    say(whole, f"{wrong} wrong")


def main(what: str, protocol: str, address: str, port: str, *numbers: str) -> None:
    if protocol == "tcp":
        if what == "send":
            send_tcp(address, int(port), int(numbers[0]))
        else:
            receive_tcp(address, int(port))
    elif what == "send":
        count, size, segment = int(numbers[0]), int(numbers[1]), int([*numbers, "0"][2])
        send_udp(address, int(port), count, size, segment)
    else:
        receive_udp(address, int(port))


if __name__ == "__main__":
    main(*sys.argv[1:])
