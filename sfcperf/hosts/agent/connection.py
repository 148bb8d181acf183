"""Agent: the connection to the agent of another machine, by which functions are called there."""

from __future__ import annotations

import shlex
import subprocess
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from weakref import finalize

import execnet

from sfcperf import waiting
from sfcperf.environment.variables import secrets, without_secrets
from sfcperf.errors import DeploymentError
from sfcperf.hosts.agent import codec, program
from sfcperf.hosts.agent.host import AgentHost, ConnectionLost
from sfcperf.hosts.agent.output import SpawnedProcess
from sfcperf.hosts.agent.remote_object import RemoteObject, remote_object
from sfcperf.hosts.base import Host
from sfcperf.hosts.namespace import NamespaceHost

if TYPE_CHECKING:
    from execnet import Channel, Gateway

P = ParamSpec("P")
T = TypeVar("T")

_BEAT_S = 5.0
_START_TIMEOUT_S = 60.0
_END_TIMEOUT_S = 15.0
_BY_SSH = 255
"""Exit status of ssh(1) for an error of its own."""
_SSH_OPTIONS = [
    *("-o", "BatchMode=yes", "-o", "ConnectTimeout=15"),
    # A connection of its own, whatever the user's configuration says.
    *("-o", "ControlMaster=no", "-o", "ControlPath=none", "-o", "ClearAllForwardings=yes"),
    *("-o", "ForwardAgent=no"),
    # ssh ends when it hears nothing for 15 s, before the agent does.
    *("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"),
]
_AS_ROOT = (
    'if [ "$(id -u)" = 0 ]; then exec "$@"; '
    'else exec sudo -n -- env SSH_CONNECTION="$SSH_CONNECTION" "$@"; fi'
)
_START = """
import sys
if {folder!r} not in sys.path:
    sys.path.insert(0, {folder!r})
from sfcperf.hosts.agent.serving import {function}
{function}(channel)
"""
"""Program by which a function of `serving` serves a channel. The path is no environment variable,
because that would reach the functions that an agent starts."""


@dataclass(frozen=True)
class AgentAccess:
    """How an agent is started."""

    destination: str
    """`user@address`, or a name in the user's ssh configuration. A user other than root needs
    `sudo` without a password."""
    options: tuple[str, ...] = ()
    """Options of ssh(1)."""
    python: str = "python3"
    """Name or path of Python on the machine."""

    def command(self, *arguments: str) -> list[str]:
        """The command that runs this Python as root on the machine."""
        there = shlex.join(["sh", "-c", _AS_ROOT, "sh", self.python, *arguments])
        return ["ssh", "-T", *_SSH_OPTIONS, *self.options, self.destination, there]


class Agent:
    """An agent, from its creation until `close`. Many threads may use one object: each call that is
    under way has a channel of its own.

    The agent ends with the connection, and when it hears nothing for serving.SILENCE_S."""

    def __init__(self, name: str, access: AgentAccess, log: Path) -> None:
        """Start an agent by SSH. `name`: of the machine, for messages. `log`: file for what ssh
        says. Raises DeploymentError when nobody can log in there, or when the machine has no Python
        that is new enough."""
        self.name = name
        _prepare(name, access)
        self._group = execnet.Group()
        self._gateway = _gateway(self._group, name, access, log)
        self._lock = Lock()
        self._idle: list[_Line] = []
        """Channels on which no call is under way."""
        self._released: deque[int] = deque()
        """Numbers of objects that nobody refers to here any more."""
        self._closed = Event()
        self._lost = False
        keeper = self._keeper(log)
        Thread(target=self._beat, args=[keeper], daemon=True).start()

    @property
    def lost(self) -> bool:
        """Whether the connection is lost."""
        return self._lost

    def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function of this package on the machine. Its result, if it is no plain value,
        stays there, and a RemoteObject stands for it. Raises what the function raises, and
        ConnectionLost."""
        released: list[int] = []
        with suppress(IndexError):
            while True:
                released.append(self._released.popleft())
        message = codec.dumps((released, function, args, kwargs), _reference)
        with self._line() as line:
            reply = line.ask(message)
            if reply is None:
                raise self._gone()
        kind, value = codec.loads_values(reply, self._find)
        if kind == "error" and isinstance(value, Exception):
            raise value
        if kind == "fault":
            raise RuntimeError(f"the agent on {self.name} failed:\n{value}")
        result: T = value
        return result

    def host(
        self, name: str, namespace: str | None, workdir: Path, cgroups: tuple[Path, ...]
    ) -> Host:
        """Return a NamespaceHost of the machine, as this process uses it."""
        there = self.call(NamespaceHost, name, namespace, workdir, cgroups)
        return AgentHost(name, workdir, self, there)

    def stream(self, spawned: SpawnedProcess, note: Callable[[Any], None]) -> Channel:
        """Have `note` called, in another thread, with all that serving.stream sends of a spawned
        process, and with None when there is no more, or when the connection is lost. Whoever wants
        the end keeps the channel that is returned."""
        try:
            channel = self._open("stream")
            channel.send(_reference(spawned))
        except OSError as error:
            raise self._gone() from error
        channel.setcallback(note, endmarker=None)
        return channel

    def close(self) -> None:
        """End the agent; it removes what is still there."""
        self._closed.set()
        self._lost = True
        self._group.terminate(timeout=_END_TIMEOUT_S)

    def _keeper(self, log: Path) -> Channel:
        """Open the first channel, which the agent's main thread serves, and wait until it does.
        Raises DeploymentError."""
        try:
            keeper = self._open("keep")
            keeper.receive(timeout=_START_TIMEOUT_S)
        except Exception as error:  # what the agent raises comes as execnet's RemoteError
            self.close()
            said = log.read_text(errors="replace") if log.exists() else ""
            last = (said.strip() or str(error).strip() or type(error).__name__).splitlines()[-1]
            message = f"{self.name}: the agent does not start: {last}"
            raise DeploymentError(message, where=str(log)) from error
        return keeper

    def _gone(self) -> ConnectionLost:
        """Note that the connection is lost, and return the error that says so."""
        self._lost = True
        return ConnectionLost(
            f"the connection to {self.name} was lost; what was built there is removed"
        )

    def _open(self, function: str) -> Channel:
        """Open a channel that a function of `serving` serves. Raises OSError."""
        return self._gateway.remote_exec(_START.format(folder=program.folder(), function=function))

    @contextmanager
    def _line(self) -> Iterator[_Line]:
        """Yield a channel for one call. After an error or a cancelled wait it is not used again,
        because a late reply would be taken for that of the next call."""
        try:
            with self._lock:
                idle = self._idle.pop() if self._idle else None
            line = idle or _Line(self._open("serve"))
        except OSError as error:
            raise self._gone() from error
        try:
            yield line
        except BaseException:
            line.close()
            raise
        with self._lock:
            self._idle.append(line)

    def _find(self, reference: tuple[int, str, str]) -> Any:
        """Return what stands for an object that the agent keeps, until nobody refers to it here."""
        number, module, name = reference
        kept = remote_object(self, number, module, name)
        finalize(kept, self._released.append, number)
        return kept

    def _beat(self, keeper: Channel) -> None:
        """Tell the agent every few seconds that we live."""
        try:
            while not self._closed.wait(_BEAT_S):
                keeper.send(True)
        except OSError:
            self._lost = True


class _Line:
    """A channel on which one call at a time is under way."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._replies: SimpleQueue[bytes | None] = SimpleQueue()
        self._news = waiting.Event()
        channel.setcallback(self._note, endmarker=None)

    def ask(self, message: bytes) -> bytes | None:
        """Send a message and wait for its reply; None: the connection is lost."""
        with suppress(OSError):
            self._channel.send(message)
            self._news.wait()
            self._news.clear()
            return self._replies.get()
        return None

    def close(self) -> None:
        """Close the channel."""
        with suppress(OSError):
            self._channel.close()

    def _note(self, reply: bytes | None) -> None:
        self._replies.put(reply)
        self._news.set()


def _reference(kept: Any) -> int:
    """Return the number of an object that stays with the agent."""
    if not isinstance(kept, RemoteObject):
        raise TypeError(f"an object of {type(kept).__name__} cannot be sent to an agent")
    return kept._number


def _prepare(name: str, access: AgentAccess) -> None:
    """Log in, and send the agent's program if the machine does not have it. Raises
    DeploymentError."""
    if _run_there(name, access, program.look()) == "missing":
        _run_there(name, access, program.unpack(), program.archive())


def _run_there(name: str, access: AgentAccess, text: str, stdin: bytes = b"") -> str:
    """Run a Python program on the machine, and return what it prints. Raises DeploymentError."""
    try:
        done = subprocess.run(
            access.command("-c", text),
            capture_output=True,
            input=stdin,
            timeout=_START_TIMEOUT_S,
            env=without_secrets(),
        )
    except subprocess.TimeoutExpired as error:
        raise DeploymentError(
            f"{name}: {access.destination} does not answer within {_START_TIMEOUT_S:g} s"
        ) from error
    complaint = done.stderr.decode(errors="replace").strip()
    if done.returncode == _BY_SSH:
        raise _no_login(name, access, complaint)
    if done.returncode != 0:
        last = (complaint.splitlines() or ["it said nothing"])[-1]
        raise DeploymentError(
            f"{name}: no agent runs on {access.destination}: {last}",
            where=access.python,
            hint="it needs Python, and sudo without a password for a user other than root",
        )
    return done.stdout.decode(errors="replace").strip()


def _no_login(name: str, access: AgentAccess, complaint: str) -> DeploymentError:
    """Return the error for what ssh(1) complains about."""
    lines = [line for line in complaint.splitlines() if line.strip()]
    hints = {
        "Host key verification failed": "log in once by hand to see and accept its key, or set "
        "known_hosts",
        "Permission denied": "add your public key to authorized_keys there, or set identity",
    }
    hint = next((hint for text, hint in hints.items() if text in complaint), None)
    return DeploymentError(
        f"{name}: nobody can log in to {access.destination}: {lines[-1] if lines else 'no reason'}",
        hint=hint or f"try: ssh {shlex.join([*access.options, access.destination])}",
    )


def _gateway(group: execnet.Group, name: str, access: AgentAccess, log: Path) -> Gateway:
    """Start Python on the machine, with execnet's side of the connection. Raises
    DeploymentError."""
    # execnet appends `-u -c PROGRAM`, which the shell sees as $0, $1 and $2. A session of its own
    # keeps Ctrl-C in a terminal from ssh.
    *ssh, there = access.command("-u", "-c")
    said = shlex.quote(str(log))
    unset = shlex.join([word for name in secrets() for word in ("-u", name)])
    script = f"""exec env {unset} setsid {shlex.join(ssh)} {shlex.quote(there)}" '$2'" 2>>{said}"""
    spec = execnet.XSpec("popen")
    spec.python = shlex.join(["sh", "-c", script])
    try:
        return group.makegateway(spec)
    except Exception as error:  # execnet raises whatever the pipe does
        message = f"{name}: the agent does not start: {error}"
        raise DeploymentError(message, where=str(log)) from error
