"""`sfcperf kibana export|import`: data views and dashboards as saved objects."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from sfcperf.cli.arguments import CaOption, OutputOption, group, stream_prefix_option
from sfcperf.counts import count_text
from sfcperf.errors import EnvironmentLacks, InputError, system_errors_as

app = group("Import dashboards into Kibana, or export them.")

PrefixOption = Annotated[str, stream_prefix_option()]


@app.command("export")
def export(
    output: OutputOption = None,
    prefix: PrefixOption = "sfcperf",
) -> None:
    """Write data views and dashboards as NDJSON that Kibana can import."""
    content = _content(prefix)
    if output is None:
        print(content, end="")
        return
    from sfcperf.results.files import replace_file

    with system_errors_as(InputError, "the file cannot be written", where=output):
        replace_file(output, content)
    print(output)


@app.command("import")
def import_(
    url: Annotated[
        str,
        typer.Option("--url", metavar="URL", help="Kibana server, such as https://kibana:5601."),
    ],
    space: Annotated[
        str | None,
        typer.Option("--space", metavar="NAME", help="Space to import into [default: default]."),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite/--no-overwrite", help="Replace or keep objects of an earlier import."
        ),
    ] = True,
    ca: CaOption = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Do not verify the server.")] = False,
    prefix: PrefixOption = "sfcperf",
) -> None:
    """Import data views and dashboards into Kibana. Importing again replaces them.

    Secrets come from the environment or the keyring, as for `sfcperf index`.
    """
    from sfcperf.elasticsearch.target import target
    from sfcperf.kibana import import_objects

    if space is not None and not re.fullmatch("[a-z0-9_-]+", space):
        raise InputError(
            f"{space!r} is not a valid space name", where="--space", allowed="a-z, 0-9, _ and -"
        )
    kibana = target([url], prefix=prefix, ca=ca, insecure=insecure)
    done = import_objects(kibana, _content(prefix), space=space, overwrite=overwrite)
    print(f"{count_text(done.count, 'object')} imported into {kibana.name}")
    if done.errors:
        raise EnvironmentLacks("not everything was imported:\n" + "\n".join(done.errors))


def _content(prefix: str) -> str:
    """Return all data views and dashboards as NDJSON. Raises InputError for a bad prefix."""
    from sfcperf.elasticsearch.target import target
    from sfcperf.kibana import ndjson, saved_objects

    # Called only to check the prefix, which becomes part of names on the server.
    target(["http://127.0.0.1:9200"], prefix=prefix)
    return ndjson(saved_objects(prefix))
