"""Texts of the shell scripts that run in a guest for us: plain sh that busybox, dash and bash
understand.

Every connection has a *guard*. That is a shell which ends whatever was started through the
connection as soon as the connection is gone: SSH servers leave the processes of a lost connection
alone. The guard finds them by an environment variable, which children inherit, and by a list of
those in the background, since some programs write over their environment. The guard also sends
signals, in one round trip.

A command is started by a script that the guard has written to a file. The script sets the search
path and the outputs, and makes a process group for a command in the background. Then it becomes the
command, so that the server sees the command's own exit status. The script looks up programs on the
path itself, since busybox's shell prefers its own applets.

Everything of ours in a guest is in `WORKDIR/.life-TOKEN`; each connection has a token.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

FOLDERS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Search path in a guest; the folder of carried tools comes before it."""

HEARTBEAT_S = 15.0
SILENCE_S = 90
"""A guard that hears nothing for so long takes the connection for lost. HEARTBEAT_S is much
shorter."""

LONGEST_COMMAND_BYTES = 8000
"""The arguments of a longer command line are put into a file: dropbear refuses commands of more
than 9000 bytes."""

TAKE = 'cat >"$1"'
"""Script that writes its standard input to the file $1."""

_COMMON = """\
fields() { group=$3 start=${20}; }
stat_of() { start=; { read -r stat <"/proc/$1/stat"; } 2>/dev/null && fields ${stat##*) }; }
"""

_GUARD = """\
trap "" HUP INT PIPE TERM
# Not by `:`, a special builtin: a shell that cannot redirect one ends, as when $life is gone.
note() { true >"$1"; } 2>/dev/null
answer() { printf "\\n%s %s\\n" "$token" "$1"; }
same() { stat_of "$1" && [ "$start" = "$2" ]; }
to_group() { kill "-$1" "-$2" || kill "-$1" "$2"; } 2>/dev/null
marked() {
	line=
	while read -r line || [ -n "$line" ]; do
		case $line in *"SFCPERF_LIFE=$token:$2"*) return 0 ;; esac
		line=
	done <"$1/environ"
	return 1
} 2>/dev/null
to_marked() {
	for folder in /proc/[0-9]*; do
		pid=${folder#/proc/}
		if marked "$folder" "$2" && [ "$pid" != $$ ]; then kill "-$1" "$pid"; left=1; fi
	done
} 2>/dev/null
end_all() {
	while read -r pid began; do
		same "$pid" "$began" && to_group "$1" "$pid" && left=1
	done <"$life/spawned"
	to_marked "$1" ""
} 2>/dev/null
end() {
	note "$life/closed"
	left=
	end_all 15
	turns=8
	while [ -n "$left" ] && [ $turns -gt 0 ]; do
		sleep 0.1 || sleep 1
		turns=$((turns - 1)) left=
		end_all 0
	done
	[ -z "$left" ] || end_all 9
	# Who was just about to start when the connection was lost.
	[ -n "$1" ] || { sleep 1; end_all 9; }
}
# First its process, then its group, which it makes only when it has begun.
end_watcher() { [ -z "$watcher" ] || kill -9 "$watcher" "-$watcher"; } 2>/dev/null
started() { grep "^$2 " "$1/register" 2>/dev/null; }
umask 022
mkdir -p "$life" && chmod 700 "$life" && printf "%s" "$script" >"$life/start" || exit 1
: >"$life/register"; : >"$life/spawned"; : >"$life/beat"
for tool in setsid grep cat sleep id; do
	command -v $tool >/dev/null || { echo "it has no command $tool"; answer 1; exit 1; }
done
limit=; watcher=
(read -r -t 1 word </dev/null) 2>/dev/null
if [ $? -le 1 ]; then
	limit="-t $silence"
else
	# This shell cannot stop waiting by itself.
	setsid sh -c "while sleep $silence; do [ -e \\"\\$1/beat\\" ] || kill -USR1 \\$2 || exit
		rm -f \\"\\$1/beat\\"; done" sh "$life" $$ >/dev/null 2>&1 </dev/null &
	watcher=$!
fi
trap "end; end_watcher; exit 0" USR1
echo "$1 ${SHELL##*/}"
answer 0
last=
while read -r $limit word a b c; do
	case $word in
	beat) note "$life/beat"; answer 0 ;;
	signal) same "$b" "$c" && kill "-$a" "$b" 2>/dev/null; answer 0 ;;
	drop) note "$life/drop-$a"; started "$life" "$a" >/dev/null; status=$?
		to_marked 9 "$a"; to_marked 9 "$a"; answer $status ;;
	fence) if [ -d "$a" ]; then note "$a/closed"; started "$a" "$b" >/dev/null; answer $?
		else answer 2; fi ;;
	bye) last=1; break ;;
	esac
done
end $last
end_watcher
[ -z "$last" ] || { rm -rf "$life"; answer 0; }
"""
"""Script of the guard. When it is ready, it prints what it found of the login, and `TOKEN 0`. Then
it answers each line with `TOKEN STATUS`:

    beat                     0
    signal NUMBER PID BEGAN  0; sends the signal if the process is still the one that began then
    drop ID                  kills a command, or keeps it from starting; 0: it had started, 1: not
    fence FOLDER ID          lets nothing more start through a lost connection, whose folder that
                             is; 0: the command ID had started, 1: not, 2: the folder is gone
    bye                      0, when all commands have ended and the folder is removed
"""

_START = """\
id=$1 kind=$2 in=$3 out=$4 err=$5 name=$6
shift 6
LC_ALL=C SFCPERF_LIFE=$token:$id
export PATH LC_ALL SFCPERF_LIFE
program= number=2
case $name in
*/*)
	[ ! -e "$name" ] || number=13
	[ -x "$name" ] && [ ! -d "$name" ] && program=$name ;;
*)
	IFS=:
	for folder in $PATH; do
		[ ! -e "$folder/$name" ] || number=13
		if [ -x "$folder/$name" ] && [ ! -d "$folder/$name" ]; then
			program=$folder/$name
			break
		fi
	done
	unset IFS ;;
esac
[ -n "$program" ] || { echo "sfcperf-cannot $number" >&2; exit 127; }
stat_of $$
echo "$id $$ $start" >>"$life/register"
[ $kind = run ] || echo "$$ $start" >>"$life/spawned"
if [ -e "$life/closed" ] || [ -e "$life/drop-$id" ]; then exit 127; fi
echo "sfcperf-started $$ $start" >&2
[ $in = pipe ] || exec </dev/null
[ $out = pipe ] || exec >/dev/null
[ $err = pipe ] || exec 2>/dev/null
# Where each program that is executed costs time: a group of its own only where it is needed.
if [ $kind = run ] || [ "$group" = $$ ]; then exec "$program" "$@"; fi
exec setsid "$program" "$@"
"""
"""Script that starts a command. Its arguments: ID, `run` or `spawn` (in the background), `pipe` or
`none` for standard input, output and error, then the command. On standard error it prints
`sfcperf-started PID BEGAN`, or `sfcperf-cannot ERRNO`."""

_READER = """\
while IFS= read -r path; do cat -- "$path" 2>&1; printf "\\n%s %s\\n" "$token" $?; done
"""


def life_folder(workdir: Path, token: str) -> str:
    """Path of the folder of one connection in a guest."""
    return f"{workdir}/.life-{token}"


def guard(workdir: Path, token: str) -> str:
    """Command line that starts a connection's guard. The login shell need not be a POSIX shell."""
    words = {"life": life_folder(workdir, token), "token": token, "silence": str(SILENCE_S)}
    variables = {**words, "script": start_script(workdir, token)}
    return _as_root(_settings(variables, FOLDERS) + _COMMON + _GUARD)


def reader(token: str) -> str:
    """Command line of a shell that reads names of files, one a line, and prints each file."""
    return _as_root(_settings({"token": token}, FOLDERS) + _READER)


def start_script(workdir: Path, token: str) -> str:
    """Text of the script WORKDIR/.life-TOKEN/start, which starts commands."""
    path = f"{workdir}/bin:{FOLDERS}"
    variables = {"life": life_folder(workdir, token), "token": token}
    return _settings(variables, path) + _COMMON + _START


def command(life: str, words: Sequence[str] | None, file: str, *, root: bool, posix: bool) -> str:
    """Command line that starts a command.

    `words` are the arguments of the start script; None: they are in `file`, see `arguments`.
    `root`: the login is root's, so no sudo is needed. `posix`: the login shell is a POSIX one,
    which can do the work without another shell.
    """
    set_words = f". {shlex.quote(file)}" if words is None else f"set -- {shlex.join(words)}"
    script = f"{set_words}; . {shlex.quote(life + '/start')}"
    if root and posix:
        return script
    return f"exec {'' if root else 'sudo -n -- '}/bin/sh -c {shlex.quote(script)}"


def arguments(file: str, words: Sequence[str]) -> bytes:
    """Content of the file that holds the start script's arguments when they are too long for a
    command line. The file removes itself when it is read."""
    return f"rm -f {shlex.quote(file)}\nset -- {shlex.join(words)}\n".encode()


def _settings(variables: dict[str, str], path: str) -> str:
    """Lines that set these variables in a shell script."""
    named = {**variables, "PATH": path}
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in named.items())


def _as_root(script: str) -> str:
    """Command line that runs a script as root, by sudo if the login is not root's. The script's $1
    is the login's user id."""
    become = 'u=$(id -u); as=; [ "$u" = 0 ] || as="sudo -n --"; exec $as /bin/sh -c "$1" sh "$u"'
    return f"exec /bin/sh -c {shlex.quote(become)} sh {shlex.quote(script)}"
