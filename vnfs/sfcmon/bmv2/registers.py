"""Registers of a bmv2 switch, by its Thrift interface.

P4Runtime has messages for registers, but bmv2 answers them with UNIMPLEMENTED. Its Thrift
interface, which listens in the same process, reads and writes them. It listens at every address of
its network namespace and asks for no password: `reach` keeps others away from it. This client goes
into the switch's namespace for its connection, or uses a Unix socket that leads to the port.

A number of Thrift is a signed one of 64 bits: registers of 63 bits at most are read as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from sfcperf.errors import MeasurementError
from sfcperf.hosts.process import inside

THRIFT_PORT = 9090
TIMEOUT_S = 10.0
_INTERFACE = Path(__file__).with_name("registers.thrift")
_CONTEXT = 0
_READ_ALL = "bm_register_read_all"
_REASONS = {1: "the switch has no such register", 2: "no such cell"}


class Registers:
    """A connection to the Thrift interface of a switch. A register is an array of cells."""

    def __init__(
        self, namespace: Path | None, port: int = THRIFT_PORT, *, socket: Path | None = None
    ) -> None:
        """`namespace`: file of the network namespace in which the switch runs; None: this one.
        `socket`: a Unix socket that leads to the switch, which is then used instead. Raises
        MeasurementError."""
        import thriftpy2

        interface = thriftpy2.load(str(_INTERFACE), module_name="sfcperf_bmv2_thrift")
        self._refusal: type[Exception] = interface.InvalidRegisterOperation
        place: Mapping[str, Any] = {"host": "127.0.0.1", "port": port}
        if socket is not None:
            place = {"unix_socket": str(socket)}
        self._standard = _connect(interface.Standard, "standard", namespace, place)
        self._switch = _connect(interface.SimpleSwitch, "simple_switch", namespace, place)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._standard.close()
        self._switch.close()

    def read(self, name: str, cell: int) -> int:
        """Read one cell. Raises MeasurementError, as all methods do."""
        with self._errors(name):
            return int(self._standard.bm_register_read(_CONTEXT, name, cell))

    def read_all(self, name: str) -> Sequence[int]:
        """Read all cells of a register. No packet changes the register meanwhile."""
        with self._errors(name):
            cells: Sequence[int] = self._standard.bm_register_read_all(_CONTEXT, name)
        return cells

    def read_several(self, names: Sequence[str]) -> list[Sequence[int]]:
        """Read all cells of several registers, in the order of their names."""
        registers: list[Sequence[int]] = self._together(_READ_ALL, names)
        return registers

    def reset_several(self, names: Sequence[str]) -> None:
        """Set all cells of several registers to 0."""
        self._together("bm_register_reset", names)

    def _together(self, request: str, names: Sequence[str]) -> list[Any]:
        """Send a request for each register, and return the answers. The requests are sent together:
        on a busy machine, and to another one, each wait for an answer takes longer than the
        answer."""
        answers: list[Any] = []
        refused: Exception | None = None
        with self._errors(", ".join(names)):
            for name in names:
                self._standard._send(request, cxt_id=_CONTEXT, register_array_name=name)
            for _ in names:
                try:
                    answers.append(self._standard._recv(request))
                except self._refusal as refusal:
                    # The other answers come all the same, and must be read before the error is
                    # raised.
                    refused = refusal
            if refused is not None:
                raise refused
        return answers

    def write(self, name: str, cell: int, value: int) -> None:
        """Set one cell."""
        with self._errors(name):
            self._standard.bm_register_write(_CONTEXT, name, cell, value)

    def fill(self, name: str, start: int, end: int, value: int) -> None:
        """Set the cells from `start` to before `end`."""
        with self._errors(name):
            self._standard.bm_register_write_range(_CONTEXT, name, start, end, value)

    def set_queue_depth(self, packets: int) -> None:
        """Set how many packets the output queue of each port has room for. The switch starts with
        64, which bursts exceed."""
        with self._errors("queues"):
            self._switch.set_all_egress_queue_depths(packets)

    @contextmanager
    def _errors(self, name: str) -> Iterator[None]:
        """Turn a refusal by the switch, or an error of Thrift, in the block into a MeasurementError
        about the register."""
        from thriftpy2.thrift import TException

        try:
            yield
        except self._refusal as refusal:
            reason = _REASONS.get(getattr(refusal, "code", 0), "the switch refuses it")
            raise MeasurementError(f"register {name}: {reason}") from refusal
        except (TException, OSError) as error:
            raise MeasurementError(f"register {name}: bmv2 does not answer: {error}") from error


def _connect(service: Any, name: str, namespace: Path | None, place: Mapping[str, Any]) -> Any:
    """Connect to a service of bmv2's Thrift interface in a network namespace. `place`: host and
    port, or Unix socket, as thriftpy2 takes them. Raises MeasurementError."""
    from thriftpy2.protocol import TCyBinaryProtocolFactory, TMultiplexedProtocolFactory
    from thriftpy2.rpc import make_client
    from thriftpy2.transport import TCyBufferedTransportFactory, TTransportException

    try:
        with inside(namespace):
            return make_client(
                service,
                **place,
                proto_factory=TMultiplexedProtocolFactory(TCyBinaryProtocolFactory(), name),
                trans_factory=TCyBufferedTransportFactory(),
                timeout=round(TIMEOUT_S * 1000),
            )
    except (TTransportException, OSError) as error:
        raise MeasurementError(
            f"bmv2's Thrift interface, {':'.join(map(str, place.values()))}, cannot be reached: "
            f"{error}"
        ) from error
