"""The knobs of a program, and what their JSON Schema cannot express."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.plugins import array, choice, flag, integer, number, object_schema, port
from sfcperf.vnfs.program import placeholders, redirect
from sfcperf.vnfs.program.image import read
from sfcperf.vnfs.program.runtime_config import CAPABILITIES
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.document import pointer
from sfcperf.workflow.references import level_text
from sfcperf.workflow.validate import Validator

_NAME = r"^[A-Za-z_][A-Za-z0-9_]{0,47}$"
_PATH = {"type": "string", "minLength": 1, "maxLength": 4096}
_WORD = {"type": ["string", "number", "boolean"], "maxLength": 4096}
"""A word of a command, or a variable. `${factor}` alone has the type of its level."""
_ARGUMENTS: Mapping[str, Any] = {"items": _WORD, "type": "array", "maxItems": 256}


def _command(description: str, **more: Any) -> dict[str, Any]:
    """JSON Schema of a command with its arguments, which may be empty: there is none."""
    return {**_ARGUMENTS, "description": description, "default": [], **more}


def _commands(description: str) -> dict[str, Any]:
    """JSON Schema of a list of commands."""
    return array(description, {**_ARGUMENTS, "minItems": 1}, maxItems=256, default=[])


def _named(description: str, values: Mapping[str, Any], pattern: str = _NAME) -> dict[str, Any]:
    """JSON Schema of an object with such values by name."""
    return {
        "type": "object",
        "propertyNames": {"pattern": pattern},
        "additionalProperties": values,
        "maxProperties": 64,
        "description": description,
        "default": {},
    }


_READY = object_schema(
    {
        "command": {**_ARGUMENTS, "minItems": 1, "description": "A command that succeeds."},
        "port": port("A TCP or UDP port that is open."),
        "output": {**_PATH, "description": "A regular expression that its output matches."},
    },
    maxProperties=1,
    description="What shows that the program is ready: one of `command`, `port` and `output`. "
    "Without any: that it still runs after 0.3 s.",
    default={},
)

_SCALAR = {"type": ["number", "string", "boolean"]}
_OWN = object_schema(
    {
        "type": choice("Type of the value.", ["integer", "number", "string", "boolean"]),
        "enum": array("The only values that it may have.", _SCALAR, minItems=1, maxItems=256),
        **{
            f"{bound}imum": {"type": "number", "description": f"{word} value."}
            for bound, word in (("min", "Lowest"), ("max", "Highest"))
        },
        "maxLength": integer("Longest text, characters.", (1, 4096)),
        "default": {**_SCALAR, "description": "Value if `values` has none."},
        "description": {"type": "string", "description": "What it does, with its unit."},
    },
    required=["type"],
    # References and patterns of a stranger's workflow would be followed when it is only looked at.
    description="The keywords of JSON Schema that values without parts need.",
)

DEFAULT_ENCAPSULATIONS = ["nsh-eth"]

PARAMETERS = object_schema(
    {
        "attach": choice(
            "How packets cross. `routed`: the kernel forwards IPv4 between the two interfaces, "
            "as for a router. `bridged`: the interfaces have no addresses, and the program, or a "
            "bridge of the setup commands, moves frames from one to the other. `nsh`: frames with "
            "an NSH come by one interface, and the program returns them there, with the service "
            "index decremented. `proxy`: the program ends the connections that `redirect` names, "
            "and opens its own; other packets cross as with `routed`.",
            ["routed", "bridged", "nsh", "proxy"],
            default="routed",
        ),
        "command": _command(
            "The program with its arguments; it stays in the foreground. No shell is involved. A "
            "name with a slash is a path, which is relative to the workflow. Without it, the setup "
            "commands do all. With an `image` it is a command of the image, in place of its own."
        ),
        "image": {
            "type": "string",
            "maxLength": 4096,
            "default": "",
            "description": "Path, relative to the workflow, of a container image in which the "
            "program is: an OCI image layout (a folder or a tar), or an archive of `docker save`. "
            "`command`, `ready` and `counters` run inside, `setup` and `teardown` outside.",
        },
        "image_name": {
            "type": "string",
            "maxLength": 512,
            "default": "",
            "description": "Name of the image, if its file has several.",
        },
        "capabilities": array(
            "Capabilities of the program in an image beyond those that Docker gives by default, "
            "such as `NET_ADMIN`.",
            {"enum": list(CAPABILITIES)},
            default=[],
        ),
        "privileged": flag(
            "Whether the program in an image has all capabilities, the devices of the machine, "
            "and may write to /proc and /sys."
        ),
        "redirect": redirect.REDIRECT,
        "setup": _commands(
            "Commands that run before the program, in this order; all must succeed."
        ),
        "teardown": _commands(
            "Commands that run after the program, whether they succeed or not. Where the whole "
            "host is removed, as on the local driver, they are not needed and do not run."
        ),
        "ready": _READY,
        "ready_timeout_s": number(
            "How long it may take until the program is ready, seconds.", (0.1, 600), default=30
        ),
        "counters": _command(
            "A command that prints counters: one JSON object of whole numbers, or lines `NAME "
            "VALUE`. They come beside `received`, `forwarded` and `dropped` of the interfaces or "
            "the kernel, or in their place."
        ),
        "files": _named(
            "Files in the folder in which the commands run, by name: a list of lines, or the "
            "path of a file, relative to the workflow, which is copied as it is.",
            {"anyOf": [array("Lines.", {"type": "string"}, maxItems=10_000), _PATH]},
            r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$",
        ),
        "env": _named("Variables that the environment of all its commands has.", _WORD),
        "stop_signal": choice(
            "Signal that ends the program.",
            ["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGUSR1", "SIGUSR2"],
            default="SIGTERM",
        ),
        "stop_timeout_s": number(
            "How long after that signal it is killed, seconds.", (0.1, 60), default=5
        ),
        "encapsulations": array(
            "With `attach` `nsh`: the encapsulations that the program takes. `nsh-eth`: NSH over "
            "Ethernet. `nsh-vxlan-gpe`: NSH in VXLAN-GPE over UDP.",
            {"enum": ["nsh-eth", "nsh-vxlan-gpe"]},
            minItems=1,
            uniqueItems=True,
            default=DEFAULT_ENCAPSULATIONS,
        ),
        "data_plane": choice(
            "What carries packets. `program`: its processes; while they are stopped, none may "
            "cross. `kernel`: the kernel, which the program only sets up or watches, or which lets "
            "packets pass when the program does not answer (fail-open).",
            ["program", "kernel"],
            default="program",
        ),
        "schema": _named(
            "The program's own knobs: name, and the JSON Schema of its values. `{{NAME}}` in "
            "commands and files stands for the value.",
            _OWN,
        ),
        "values": _named("Values of its own knobs.", _SCALAR),
    }
)


def own_values(knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the program's own knobs, by name, with defaults filled in."""
    return with_defaults({"properties": knobs["schema"]}, knobs["values"])


def check(knobs: Mapping[str, Any]) -> None:
    """Refuse knobs that fit the schema but not each other. Raises InputError, as
    `NetworkFunction.check`."""
    if not has_process(knobs):
        if not knobs["setup"]:
            raise InputError(
                "nothing would run",
                where="command",
                allowed="a `command`, an `image`, or `setup` commands",
            )
        if knobs["attach"] == "proxy":
            raise InputError("nothing would take the connections", where="command")
        if knobs["ready"]:
            raise InputError("there is no `command` that could become ready", where="ready")
    _check_files(knobs)
    _check_image(knobs)
    if knobs["attach"] != "nsh" and knobs["encapsulations"] != DEFAULT_ENCAPSULATIONS:
        raise InputError(
            "only a program that gets NSH frames has an encapsulation",
            where="encapsulations",
            hint='set `attach` to "nsh"',
        )
    redirect.check(knobs)
    reserved = {*placeholders.of(knobs["attach"]), *redirect.own_placeholders(knobs)}
    _check_own(knobs, reserved)
    if "output" in knobs["ready"]:
        try:
            re.compile(knobs["ready"]["output"])
        except re.error as error:
            raise InputError(f"not a regular expression: {error}", where="ready/output") from error
    known = [*reserved, *knobs["schema"]]
    for knob in ("command", "setup", "teardown", "counters", "env", "files"):
        placeholders.check(knobs[knob], known, knob)
    placeholders.check(knobs["ready"].get("command"), known, "ready/command")


def has_process(knobs: Mapping[str, Any]) -> bool:
    """Whether a program runs at all, beside setup commands."""
    return bool(knobs["command"] or knobs["image"])


def _check_files(knobs: Mapping[str, Any]) -> None:
    """Refuse folders in place of files; an image may be one."""
    for place in files(knobs):
        path = Path(level_text(pointer.value_at(knobs, place)))
        if place != ("image",) and path.is_dir():
            raise InputError(
                f"{path} is a folder", where="/".join(map(str, place)), allowed="a file"
            )


def _check_image(knobs: Mapping[str, Any]) -> None:
    """Refuse what is no image, or has nothing to run, and knobs that need one."""
    if not knobs["image"]:
        for knob in ("image_name", "capabilities", "privileged"):
            if knobs[knob]:
                raise InputError("there is no `image`", where=knob)
        return
    # One that is not there is reported already.
    if (file := Path(knobs["image"])).exists():
        try:
            image = read(file, knobs["image_name"])
        except InputError as error:
            raise error.as_kind(InputError, where="image") from error
        if not (knobs["command"] or image.command):
            raise InputError(
                "the image has neither an entrypoint nor a command of its own",
                where="image",
                hint="say in `command` what is to run in it",
            )


def _check_own(knobs: Mapping[str, Any], reserved: Collection[str]) -> None:
    """Refuse wrong schemas of the program's own knobs, reserved names, and values that do not fit
    the schemas."""
    for name in knobs["schema"]:
        if name in reserved:
            raise InputError(
                f"{{{{{name}}}}} stands for something else already", where=f"schema/{name}"
            )
    fitting = object_schema(knobs["schema"], required=list(knobs["schema"]))
    for wrong in Validator(fitting).misfits(own_values(knobs)):
        where = "/".join(map(str, ("values", *wrong.path)))
        raise InputError(wrong.message, where=where, allowed=wrong.allowed, hint=wrong.hint)


def commands(knobs: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the first word of each command that does not run in an image, with its place in the
    knobs."""
    inside = {} if knobs["image"] else knobs
    for knob in ("command", "counters"):
        if inside.get(knob):
            yield (knob, 0), level_text(knobs[knob][0])
    for knob in ("setup", "teardown"):
        for index, argv in enumerate(knobs[knob]):
            yield (knob, index, 0), level_text(argv[0])
    if "command" in inside.get("ready", {}):
        yield ("ready", "command", 0), level_text(knobs["ready"]["command"][0])


def files(knobs: Mapping[str, Any]) -> Iterator[tuple[str | int, ...]]:
    """Yield the places in the knobs of paths that are relative to the workflow."""
    for place, command in commands(knobs):
        if "/" in command and not command.startswith("/"):
            yield place
    if knobs["image"]:
        yield ("image",)
    for name, content in knobs["files"].items():
        if isinstance(content, str):
            yield ("files", name)
