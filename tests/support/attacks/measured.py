"""`python measured.py SECONDS FILE COMMAND...` runs a command and writes what it used, as JSON.

A process of its own, and a small one: Linux counts the peak of the memory before exec, that is of
the process that called fork, as one of the command (getrusage(2)), and pytest may be large.
"""

import json
import os
import signal
import sys
from pathlib import Path


def main() -> None:
    """The command is killed after so many seconds."""
    seconds, file, *command = sys.argv[1:]
    process = os.posix_spawn(command[0], command, os.environ)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(process, signal.SIGKILL))
    signal.alarm(int(seconds))
    # Of this process, and of those that it waited for.
    _, status, used = os.wait4(process, 0)
    signal.alarm(0)
    found = {
        "exit_code": os.waitstatus_to_exitcode(status),
        "cpu_s": used.ru_utime + used.ru_stime,
        "peak_mib": used.ru_maxrss / 1024,
    }
    Path(file).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
