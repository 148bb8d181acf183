"""Where the NSH is in a captured frame: behind Ethernet, or behind VXLAN-GPE."""

from __future__ import annotations

from sfcperf.vnfs.nsh import ETHERTYPE, NEXT_NSH, UDP_PORT, Nsh, NshError, VxlanGpe

_ETHERNET = 14
_IPV4 = 0x0800
_UDP = 17


def nsh_of(frame: bytes) -> Nsh | None:
    """The outermost NSH; None for a frame without one, or with a damaged one."""
    kind = int.from_bytes(frame[12:14], "big")
    try:
        if kind == ETHERTYPE:
            return Nsh.decode(frame[_ETHERNET:])[0]
        if kind == _IPV4 and len(frame) > 23 and frame[23] == _UDP:
            return _tunnelled(frame[_ETHERNET + 4 * (frame[_ETHERNET] & 0x0F) :])
    except NshError:
        return None
    return None


def _tunnelled(datagram: bytes) -> Nsh | None:
    if int.from_bytes(datagram[2:4], "big") != UDP_PORT:
        return None
    tunnel, payload = VxlanGpe.decode(datagram[8:])
    return Nsh.decode(payload)[0] if tunnel.next_protocol == NEXT_NSH else None
