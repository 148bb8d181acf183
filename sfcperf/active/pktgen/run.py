"""Runs sfc-pktgen at both ends of a chain, one load after another, and the generator by itself."""

from __future__ import annotations

import secrets
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from sfcperf import retry
from sfcperf.active.mtu import check_frame
from sfcperf.active.pktgen.output import (
    ReceiverReport,
    SenderReport,
    parse_calibration,
    parse_received,
    parse_sent,
)
from sfcperf.active.tool_run import last_lines, run_tool
from sfcperf.dataplane import binaries
from sfcperf.errors import MeasurementError
from sfcperf.hosts import clock
from sfcperf.hosts.base import Host, Process
from sfcperf.hosts.procfs import interface_counters
from sfcperf.management.deployment import Deployment, Hop
from sfcperf.plugins import array, choice, integer, number, object_schema, positive

BINARY = "sfc-pktgen"
IMIX = "imix"
SIMPLE_IMIX = ((64, 7), (570, 4), (1518, 1))
USUAL_PORT = 9
MOST_FLOWS = 64_512
MOST_SOURCES = 256
MOST_PPS = 100_000_000
_MOST_WEIGHT = 64
_FRAME_LIMITS = (64, 1518)
_MOST_ZIPF = 10
_START_TIMEOUT_S = 30.0
_TIMEOUT_MARGIN_S = 30.0
_POLL_S = 0.01
_MS_PER_S = 1000
_WARMUP_PPS = 10_000
_WARMUP_MS = 200
"""Length of the warm-up, which lets the chain learn flows and addresses. It is short and slow, so
that it fills no queue."""
_CALIBRATION_MS = 200

PARAMETERS: Mapping[str, Any] = {
    "protocol": choice(
        "What the packets are: UDP datagrams, or TCP SYN segments, of which each one, not only the "
        "first of its flow, asks for a connection.",
        ["udp", "tcp-syn"],
        default="udp",
    ),
    "frame_bytes": {
        "oneOf": [
            {"type": "integer", "minimum": _FRAME_LIMITS[0], "maximum": _FRAME_LIMITS[1]},
            {"const": IMIX},
        ],
        "default": 64,
        "description": "Size of the Ethernet frames, with header and frame check sequence "
        "(RFC 2544, section 9), bytes: the IPv4 packet is 18 bytes shorter and must fit the "
        f'client\'s MTU. "{IMIX}": a mix of sizes, see imix.',
    },
    "imix": array(
        f'Sizes of "{IMIX}". The size of each packet is drawn at random by these weights, which '
        f"add up to at most {_MOST_WEIGHT}. Default: 64 (weight 7), 570 (4) and 1518 bytes (1).",
        object_schema(
            {
                "frame_bytes": integer("Size of the frames, bytes.", _FRAME_LIMITS),
                "weight": integer("How often, relative to the others.", (1, _MOST_WEIGHT)),
            },
            required=["frame_bytes", "weight"],
        ),
        minItems=1,
        maxItems=_MOST_WEIGHT,
    ),
    "flows": integer(
        "Number of flows, by source port: 1024 is that of the first.", (1, MOST_FLOWS), default=1
    ),
    "source_addresses": integer(
        "Number of source addresses, each with all `flows`, so that there are as many times more "
        "flows. The second one is the client's plus 256 (10.0.1.1 for 10.0.0.1), and so on; the "
        "classifier must match them. All flows send a packet from one, then from the next.",
        (1, MOST_SOURCES),
        default=1,
    ),
    "distribution": choice(
        "Whose flow the next packet is: `uniform`, flows take turns; `zipf`, it is drawn at "
        "random, and the k-th flow has a share proportional to 1 / k^zipf_exponent.",
        ["uniform", "zipf"],
        default="uniform",
    ),
    "zipf_exponent": positive(
        "Exponent of Zipf's law; counts with the distribution `zipf`.",
        _MOST_ZIPF,
        default=1,
    ),
    "engine": choice(
        "What sends: `xdp`, frames that the kernel makes (Linux 5.18); `packet`, a packet socket, "
        "some eight times slower; `auto`, `xdp` if the warm-up arrives by it, otherwise `packet`. "
        "Results record which one it was, and why.",
        ["auto", "xdp", "packet"],
        default="auto",
    ),
    "timeout_s": number("How long to wait for the last packets, seconds.", (0.01, 60), default=1),
}


@dataclass(frozen=True)
class Outcome:
    """What became of one load that was offered."""

    sent: SenderReport
    received: ReceiverReport
    receiver_drops: int
    """Packets that the chain handed to the server and that its interface lost."""
    sender_drops: int
    """Packets that the client's interface dropped. On a veth, these are packets that the chain's
    first interface did not take, so they are lost in the chain."""


class PktgenRun:
    """sfc-pktgen with the parameters of one trial. Call `start`, then `offer` any number of times,
    then `stop`."""

    engine: str
    """`xdp` or `packet`, after `start`."""
    engine_reason: str
    """Why this engine is used, in words."""
    shares_clock: bool
    """Whether both ends have one clock, so that latencies have a meaning."""
    shares_cpu: bool
    """Whether the chain begins on the sender's machine. The sender's interface is a veth then, and
    the other end of a veth receives on the sender's CPU."""

    def __init__(self, parameters: Mapping[str, Any], port: int) -> None:
        """`parameters` are values for all of PARAMETERS; further ones are ignored."""
        self._asked = parameters
        self._port = port
        self._processes: list[Process] = []
        """All roles that run in the background."""
        self._acceptor: Process | None = None
        """The role `accept` among them, while it runs."""

    def start(self, deployment: Deployment, raw_dir: Path, rate_pps: int) -> None:
        """Warm the chain up, and find out with which engine packets get through. Raises
        MeasurementError when they get through with none."""
        check_frame(deployment.client, max(size for size, _ in self._frames))
        client = deployment.client
        self.shares_clock = clock.shared((client.host, deployment.server.host))
        first = _hop(deployment, client.name)
        self.shares_cpu = first is not None and clock.shared((client.host, first.host))
        wanted_engine = self._asked["engine"]
        engines = ("xdp", "packet") if wanted_engine == "auto" else (wanted_engine,)
        self.engine_reason = "requested" if wanted_engine != "auto" else "the default"
        problems: list[str] = []
        for engine in engines:
            self.engine = engine
            if engine == "xdp":
                self._accept(deployment, raw_dir)
            problem = self._warm_up(deployment, raw_dir, rate_pps)
            if problem is None:
                if problems:
                    self.engine_reason = f"not xdp: {problems[0]}"
                return
            problems.append(problem)
            self._stop_accepting()
        raise MeasurementError(
            "packets do not get through the chain: " + "; ".join(dict.fromkeys(problems)),
            hint="does the chain carry this protocol to this port? Firewalls may drop it",
        )

    def offer(
        self, deployment: Deployment, raw_dir: Path, rate_pps: int, duration_s: float
    ) -> Outcome:
        """Send `rate_pps` packets per second (0: as many as possible), and wait for the last ones.

        Raises MeasurementError when the sender or the receiver fails, or the sender ends early.
        """
        duration_ms = milliseconds(duration_s)
        drops = _drops(deployment)
        run = _new_run()
        with self._receiving(deployment, raw_dir, run, duration_ms) as receiver:
            sent = self._send(deployment, raw_dir, run, rate_pps, duration_ms)
            if not sent.complete:
                raise MeasurementError(f"{BINARY} was ended before its time was over")
            receiver.wait_for(sent.packets, self._asked["timeout_s"])
            received = receiver.result()
        sender_drops, receiver_drops = (
            now - before for now, before in zip(_drops(deployment), drops, strict=True)
        )
        return Outcome(sent, received, receiver_drops, sender_drops)

    def calibrate(
        self, deployment: Deployment, raw_dir: Path, rate_pps: int
    ) -> tuple[SenderReport, ReceiverReport, float]:
        """Offer a load for a short time without the chain, to see what the generator itself can do.
        The tool sends and receives it over a pair of veths of its own, on the client's host and
        CPUs: a chain of length 0 without even an SFF. Returns both reports and the duration in
        seconds. Raises MeasurementError."""
        argv = ["--role", "calibrate", "--engine", self.engine, *self._load_options(rate_pps)]
        argv += ["--run", str(_new_run()), "--duration-ms", str(_CALIBRATION_MS)]
        text = self._run(deployment.client.host, argv, raw_dir, "calibration", _CALIBRATION_MS)
        return *parse_calibration(text), _CALIBRATION_MS / _MS_PER_S

    def stop(self) -> None:
        """End all processes that still run. A process that has already ended is no error."""
        for process in self._processes:
            process.stop()
        self._processes.clear()
        self._stop_accepting()

    @property
    def _frames(self) -> Sequence[tuple[int, int]]:
        """The sizes of frames with their weights; one size of weight 1 unless a mix is asked
        for."""
        if (size := self._asked["frame_bytes"]) != IMIX:
            return [(size, 1)]
        mix = self._asked.get(IMIX)
        return [(part["frame_bytes"], part["weight"]) for part in mix] if mix else SIMPLE_IMIX

    def _load_options(self, rate_pps: int) -> list[str]:
        """Return the options of sfc-pktgen that say what to send; a rate of 0 is the highest."""
        frames = ",".join(f"{size}:{weight}" for size, weight in self._frames)
        # An exponent of 0 makes flows take turns.
        zipf = self._asked["distribution"] == "zipf" and self._asked["zipf_exponent"]
        return [
            *("--protocol", self._asked["protocol"], "--port", str(self._port)),
            *("--frames", frames, "--rate", str(rate_pps)),
            *("--flows", str(self._asked["flows"])),
            *("--sources", str(self._asked["source_addresses"])),
            *("--zipf", f"{float(zipf):.6f}"),
        ]

    def _send(
        self,
        deployment: Deployment,
        raw_dir: Path,
        run: int,
        rate_pps: int,
        duration_ms: int,
        warmup: bool = False,
    ) -> SenderReport:
        """Send packets of run `run` to the end of the duration. With `warmup`, the receiver counts
        them apart. Raises MeasurementError when the sender fails."""
        client, server = deployment.client, deployment.server
        argv = ["--role", "send", "--interface", client.interface, "--to", server.address]
        argv += ["--engine", self.engine, *self._load_options(rate_pps), "--run", str(run)]
        argv += ["--duration-ms", str(duration_ms), *(["--warmup"] if warmup else [])]
        name = "warmup-send" if warmup else "send"
        return parse_sent(self._run(client.host, argv, raw_dir, name, duration_ms))

    def _run(
        self, host: Host, argv: Sequence[str], raw_dir: Path, name: str, duration_ms: int
    ) -> str:
        """Run sfc-pktgen on a host to its end, and return what it prints. Its outputs go to files
        named after `name`. Raises MeasurementError when it fails."""
        output = run_tool(
            host,
            [host.program(binaries.find(BINARY)), *argv],
            timeout_s=duration_ms / _MS_PER_S + _TIMEOUT_MARGIN_S,
            stdout=raw_dir / f"pktgen-{name}.json",
            stderr=raw_dir / f"pktgen-{name}.stderr.txt",
        )
        if output.returncode:
            raise MeasurementError(f"{BINARY} failed: {output.complaint()}")
        return output.stdout

    @contextmanager
    def _receiving(
        self, deployment: Deployment, raw_dir: Path, run: int, duration_ms: int, name: str = ""
    ) -> Iterator[_Receiver]:
        """Receive the packets of run `run` on the server while the block lasts. Its outputs go to
        files whose names begin with `name`."""
        server = deployment.server
        argv = ["--role", "receive", "--interface", server.interface, "--run", str(run)]
        argv += ["--protocol", self._asked["protocol"], "--port", str(self._port)]
        argv += ["--duration-ms", str(duration_ms)]
        process, stdout = self._spawn(server.host, argv, raw_dir, f"{name}receive")
        try:
            yield _Receiver(process, stdout)
        finally:
            process.stop()
            self._processes.remove(process)

    def _spawn(
        self, host: Host, argv: Sequence[str], raw_dir: Path, name: str
    ) -> tuple[Process, Path]:
        """Start a role of the tool, and return when it has printed its first line, by which it says
        that it is ready. Returns the process and the file that it prints to. Raises
        MeasurementError when it does not start."""
        stdout = raw_dir / f"pktgen-{name}.json"
        stderr = raw_dir / f"pktgen-{name}.stderr.txt"
        for path in (stdout, stderr):
            path.unlink(missing_ok=True)
        program = host.program(binaries.find(BINARY))
        process = host.spawn([program, *argv], stdout=stdout, stderr=stderr)
        self._processes.append(process)
        if process.becomes(
            lambda: _lines(stdout) > 0, timeout_s=_START_TIMEOUT_S, period_s=_POLL_S
        ):
            return process, stdout
        process.stop()
        self._processes.remove(process)
        complaint = last_lines(stderr.read_text(errors="replace")) or "it said nothing"
        raise MeasurementError(f"{BINARY} on {host.name} does not start: {complaint}")

    def _accept(self, deployment: Deployment, raw_dir: Path) -> None:
        """Let the chain take frames of the engine `xdp`: a veth takes them only if its other end
        has an XDP program, so the role `accept` attaches one there. A failure is ignored, because
        the warm-up shows whether the program is needed."""
        hop = _hop(deployment, deployment.client.name)
        if hop is not None:
            argv = ["--role", "accept", "--interface", hop.interface]
            with suppress(MeasurementError):
                self._acceptor, _ = self._spawn(hop.host, argv, raw_dir, "accept")

    def _stop_accepting(self) -> None:
        """Undo `_accept`, if it has attached a program."""
        if self._acceptor is not None:
            self._acceptor.stop()
            # `stop` has already emptied the list.
            with suppress(ValueError):
                self._processes.remove(self._acceptor)
            self._acceptor = None

    def _warm_up(self, deployment: Deployment, raw_dir: Path, rate_pps: int) -> str | None:
        """Send a few packets with the engine `self.engine`. Returns None when packets arrive, or
        else why they do not. A `rate_pps` of 0 means the highest rate; the warm-up is slower."""
        rate_pps = min(rate_pps or _WARMUP_PPS, _WARMUP_PPS)
        # At a low rate, the warm-up lasts longer, so that at least one packet is sent.
        duration_ms = max(_WARMUP_MS, ceil(_MS_PER_S / rate_pps))
        name = f"warmup-{self.engine}-"
        run = _new_run()
        with self._receiving(deployment, raw_dir, run, duration_ms, name) as receiver:
            try:
                sent = self._send(deployment, raw_dir, run, rate_pps, duration_ms, warmup=True)
            except MeasurementError as error:
                return error.message
            arrived = receiver.wait_for_warmup(sent.packets, self._asked["timeout_s"])
        if arrived:
            return None
        return f"none of {sent.packets} packets of the warm-up arrived (engine {self.engine})"


class _Receiver:
    """A running process of the role `receive`, which counts the packets of one run. It prints its
    counters to the file `stdout`."""

    def __init__(self, process: Process, stdout: Path) -> None:
        self._process = process
        self._stdout = stdout

    def wait_for(self, packets: int, timeout_s: float) -> None:
        """Wait until so many packets have arrived, without duplicates, or the time is over."""
        self._wait(lambda received: received.unique, packets, timeout_s)

    def wait_for_warmup(self, packets: int, timeout_s: float) -> int:
        """Wait until so many packets of the warm-up have arrived, or the time is over. Returns how
        many arrived."""
        return self._wait(lambda received: received.warmup, packets, timeout_s)

    def result(self) -> ReceiverReport:
        """End the process, and return what it counted."""
        self._process.stop()
        return parse_received(self._stdout.read_text(errors="replace"))

    def _wait(self, count: Callable[[ReceiverReport], int], packets: int, timeout_s: float) -> int:
        """Wait until `count` of the receiver's counters is at least `packets`, or the time is over.
        Returns its last value."""
        seen = 0

        def decided() -> bool:
            nonlocal seen
            seen = count(self._counters())
            return seen >= packets

        retry.until(decided, timeout_s=timeout_s, period_s=_POLL_S)
        return seen

    def _counters(self) -> ReceiverReport:
        """Make the receiver print its counters, by SIGUSR1, and read them. Raises MeasurementError
        when it has ended or does not answer."""
        # The answer is the next line that it prints.
        before = _lines(self._stdout)
        self._process.send_signal(signal.SIGUSR1)
        if not self._process.becomes(
            lambda: _lines(self._stdout) > before, timeout_s=_START_TIMEOUT_S, period_s=_POLL_S / 10
        ):
            raise MeasurementError(f"the receiver of {BINARY} ended, or does not answer")
        # A line behind it may still be incomplete.
        complete = self._stdout.read_text().rpartition("\n")[0]
        return parse_received(complete)


def ip_protocols(parameters: Mapping[str, Any]) -> frozenset[str]:
    """Return the IP protocol that the parameter `protocol` names: `udp`, or `tcp` for `tcp-syn`."""
    return frozenset({parameters["protocol"].removesuffix("-syn")})


def milliseconds(duration_s: float) -> int:
    """Return a duration in whole milliseconds, rounded up; at least 1. The first rounding removes
    errors of floats, which would add a millisecond."""
    return max(1, ceil(round(duration_s * _MS_PER_S, 6)))


def _new_run() -> int:
    """Return a random number that the packets of a run carry. It is even, because packets of the
    run's warm-up carry the odd number after it."""
    return secrets.randbits(31) << 1


def _lines(path: Path) -> int:
    """Return the number of whole lines in a file; 0 if it does not exist yet."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _hop(deployment: Deployment, name: str) -> Hop | None:
    """Return the hop at the SFF's end of the link to an endpoint; None where that end is not
    accessible."""
    return next((hop for hop in deployment.hops if hop.name == name and not hop.inside), None)


def _drops(deployment: Deployment) -> tuple[int, int]:
    """Return the packets dropped so far by the client's interface, and on the last step to the
    server. The second number is what the server's interface dropped, and what the SFF's end of its
    link could not hand over."""
    client, server = deployment.client, deployment.server
    sender = interface_counters(client.host.read_text("/proc/net/dev"))[client.interface]
    receiver = interface_counters(server.host.read_text("/proc/net/dev"))[server.interface]
    lost = receiver.rx_drops + receiver.rx_errors
    if (hop := _hop(deployment, server.name)) is not None:
        lost += interface_counters(hop.host.read_text("/proc/net/dev"))[hop.interface].tx_drops
    return sender.tx_drops, lost
