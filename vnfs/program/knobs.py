"""The knobs of a program, and what their JSON Schema cannot express."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.plugins import array, choice, flag, integer, number, object_schema, port
from sfcperf.vnfs.program import placeholders, redirect
from sfcperf.vnfs.program.image import read
from sfcperf.vnfs.program.runtime_config import CAPABILITIES
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.document import choices
from sfcperf.workflow.references import level_text
from sfcperf.workflow.validate import Validator

_NAME = r"^[A-Za-z_][A-Za-z0-9_]{0,47}$"
_PATH = {"type": "string", "minLength": 1, "maxLength": 4096}
_WORD = {"type": ["string", "number", "boolean"], "maxLength": 4096}
"""A word of a command, or a variable. `${factor}` alone has the type of its level."""
_ARGUMENTS: Mapping[str, Any] = {
    "items": _WORD,
    "type": "array",
    "maxItems": 256,
    "description": 'A command as a list of words, such as ["ip", "link", "show"].',
}
_SHELLS = ("&&", "||", "2>&1")
"""Words that only a shell understands, and that no program is known to take as an argument."""


def _command(description: str, **more: Any) -> dict[str, Any]:
    """JSON Schema of a command with its arguments. By default it is empty: there is none."""
    about = f"{description} {_ARGUMENTS['description']}"
    return {**_ARGUMENTS, "description": about, **(more or {"default": []})}


def _commands(description: str) -> dict[str, Any]:
    """JSON Schema of a list of commands."""
    about = f'{description} A list of commands: [["ip", "link", "show"]].'
    return array(about, {**_ARGUMENTS, "minItems": 1}, maxItems=256, default=[])


def _named(
    description: str,
    values: Mapping[str, Any],
    pattern: str = _NAME,
    names: str = "A name of letters, digits and underscores.",
) -> dict[str, Any]:
    """JSON Schema of an object with such values by name. `names`: the pattern in words."""
    return {
        "type": "object",
        "propertyNames": {"pattern": pattern, "description": names},
        "additionalProperties": values,
        "maxProperties": 64,
        "description": description,
        "default": {},
    }


_READY = object_schema(
    {
        "command": _command("A command that succeeds.", minItems=1),
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
    description="JSON Schema of one knob, with the keywords that values without parts need: "
    '{"type": "integer", "minimum": 0, "default": 100}.',
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
            "The name of a file, without folders: letters, digits, and . _ - after the first.",
        ),
        "env": _named('Variables of the environment of all its commands: {"LEVEL": 3}.', _WORD),
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
    },
    description="Knobs that a program has of its own are declared in `schema`, and have their "
    "values in `values`.",
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
    _check_folders(knobs)
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
    known = [*reserved, *knobs["schema"]]
    for place, argv in commands(knobs):
        _check_words(place, argv, known)
    if "output" in knobs["ready"]:
        try:
            re.compile(knobs["ready"]["output"])
        except re.error as error:
            raise InputError(f"not a regular expression: {error}", where="ready/output") from error
    for knob in ("command", "setup", "teardown", "counters", "env", "files"):
        placeholders.check(knobs[knob], known, knob)
    placeholders.check(knobs["ready"].get("command"), known, "ready/command")


def has_process(knobs: Mapping[str, Any]) -> bool:
    """Whether a program runs at all, beside setup commands."""
    return bool(knobs["command"] or knobs["image"])


def _check_folders(knobs: Mapping[str, Any]) -> None:
    """Refuse folders in place of files; an image may be one."""
    paths = {(*place, 0): argv[0] for place, argv in outside(knobs) if "/" in argv[0]}
    paths |= {("files", name): path for name, path in knobs["files"].items()}
    for place, path in paths.items():
        # Unlike Path.is_dir, this raises nothing for a name that is too long.
        if isinstance(path, str) and os.path.isdir(path):  # noqa: PTH112
            where = "/".join(map(str, place))
            raise InputError(f"{path} is a folder", where=where, allowed="a file")


def _check_image(knobs: Mapping[str, Any]) -> None:
    """Refuse what is no image, or has nothing to run, and knobs that need one."""
    if not knobs["image"]:
        for knob in ("image_name", "capabilities", "privileged"):
            if knobs[knob]:
                raise InputError("there is no `image`", where=knob)
        return
    try:
        image = read(Path(knobs["image"]), knobs["image_name"])
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
    for name in knobs["values"]:
        if name not in knobs["schema"]:
            raise InputError(
                f"{name!r} is not declared in `schema`",
                where=f"values/{name}",
                **choices(name, knobs["schema"]),
            )
    values = own_values(knobs)
    for name, schema in knobs["schema"].items():
        if name not in values:
            raise InputError(
                f"the program's own knob {name!r} has no value",
                where=f"schema/{name}",
                hint="set it in `values`, or give it a `default` here",
            )
        where = f"values/{name}" if name in knobs["values"] else f"schema/{name}/default"
        for wrong in Validator(schema).misfits(values[name]):
            raise InputError(wrong.message, where=where, allowed=wrong.allowed, hint=wrong.hint)


def _check_words(place: tuple[str | int, ...], argv: Sequence[str], known: Collection[str]) -> None:
    """Refuse a command that only a shell would understand. `known`: names of placeholders."""
    where = "/".join(map(str, place))
    if not argv[0].strip():
        raise InputError("the name of the program is missing", where=f"{where}/0")
    if "/" not in argv[0] and len(words := argv[0].split()) > 1:
        raise InputError(
            f"no program has the name {argv[0]!r}: each argument is a word of its own",
            where=f"{where}/0",
            allowed=json.dumps([*words, *argv[1:]]),
        )
    for index, word in enumerate(argv):
        if word in _SHELLS or (word == "&" and index == len(argv) - 1):
            raise InputError(
                f"{word!r} would be an argument of the program: no shell is involved",
                where=f"{where}/{index}",
                hint='a shell is started by ["sh", "-c", "..."]; a program must stay in the '
                "foreground",
            )
        placeholders.check_spelling(word, known, f"{where}/{index}")


def commands(knobs: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], list[str]]]:
    """Yield the words of each command, with its place in the knobs, in the order in which they are
    run."""
    stated: dict[tuple[str | int, ...], Any] = {
        **{("setup", index): argv for index, argv in enumerate(knobs["setup"])},
        ("command",): knobs["command"],
        ("ready", "command"): knobs["ready"].get("command"),
        ("counters",): knobs["counters"],
        **{("teardown", index): argv for index, argv in enumerate(knobs["teardown"])},
    }
    for place, argv in stated.items():
        if argv:
            yield place, list(map(level_text, argv))


def shown(knobs: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield what is executed, for users: the image by its digest, its own command if that is run,
    and the words of each command, with its place in the knobs and its environment."""
    if knobs["image"]:
        image = read(Path(knobs["image"]), knobs["image_name"])
        yield "image", [image.digest]
        if not knobs["command"]:
            yield "command of the image", list(image.command)
    variables = [f"{name}={level_text(value)}" for name, value in knobs["env"].items()]
    environment = ["env", *variables] if variables else []
    for place, argv in commands(knobs):
        yield "/".join(map(str, place)), [*environment, *argv]


def outside(knobs: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], list[str]]]:
    """Yield those of the commands that do not run in an image."""
    for place, argv in commands(knobs):
        if not knobs["image"] or place[0] in ("setup", "teardown"):
            yield place, argv


def programs(knobs: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of its programs: the first word of each command, and further words that are
    absolute paths; none of those in an image. What a placeholder stands for is not known yet."""
    for _, (name, *arguments) in outside(knobs):
        paths = (word for word in arguments if word.startswith("/"))
        yield from (word for word in (name, *paths) if "{{" not in word)


def files(knobs: Mapping[str, Any]) -> Iterator[tuple[str | int, ...]]:
    """Yield the places in the knobs of paths that are relative to the workflow."""
    for place, (name, *_) in outside(knobs):
        if "/" in name and not name.startswith("/"):
            yield (*place, 0)
    if knobs["image"]:
        yield ("image",)
    for name, content in knobs["files"].items():
        if isinstance(content, str):
            yield ("files", name)
