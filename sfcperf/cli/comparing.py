"""The sides, options and files of `sfcperf compare`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

from sfcperf.analysis.comparison import (
    DEFAULT_MARGIN,
    VERDICTS,
    Comparison,
    Options,
    Side,
    can_differ,
    least_rounds_text,
    variants_of,
    without_power,
)
from sfcperf.cli.inputs import campaign_of, given_labels, is_campaign, read_runs
from sfcperf.counts import count_text
from sfcperf.errors import InputError
from sfcperf.figures.run_data import letter_of
from sfcperf.results.campaigns import Repeat
from sfcperf.results.files import replace_file
from sfcperf.results.store import RunStore

_MARGINS = "3%, rtt_us=10%, ping/rtt_us=10%, loss_ratio=0.001 (in the metric's unit)"


def failing(arguments: Sequence[str]) -> frozenset[str]:
    """Return the verdicts that the arguments of `--fail-on` name; an argument may be several words,
    separated by commas. Raises InputError for an unknown verdict."""
    words = [word.strip() for text in arguments for word in text.split(",")]
    for word in words:
        if word not in VERDICTS:
            raise InputError(
                f"unknown verdict {word!r}", where="--fail-on", allowed=", ".join(VERDICTS)
            )
    return frozenset(words)


def powerless(comparison: Comparison, options: Options) -> str | None:
    """Say why some row could not have been called different, whatever was measured; None if all
    rows could. A comparison without rows cannot decide anything either."""
    if not comparison.rows:
        return "there is no row to judge"
    if (text := next(without_power(comparison.rows, options), None)) is not None:
        return text
    # `p_least` is the smallest p-value that so many trials can give; None: there was no test.
    rows = [
        row for row in comparison.rows if row.p_least is not None and row.p_least > options.alpha
    ]
    if not rows:
        return None
    # Primary and other metrics are corrected apart: the larger of both families counts.
    families = [[row for row in comparison.rows if row.primary is one.primary] for one in rows]
    number = max(sum(can_differ(row.a, row.b) for row in family) for family in families)
    least = least_rounds_text(options.alpha, number, paired=any(row.paired for row in rows))
    return (
        f"{count_text(len(rows), 'row')} of {len(comparison.rows)} cannot be called better or "
        f"worse with so few trials; use {least}"
    )


def options_of(margins: Sequence[str], test: str, rarest: str, **more: Any) -> Options:
    """Make the options of a comparison from the texts that a user gave. `more`: further fields of
    `Options`. Raises InputError for an invalid margin or share."""
    relative: dict[str, float] = {}
    absolute: dict[str, float] = {}
    for text in margins:
        metric, _, size = text.rpartition("=")
        percent = re.fullmatch(r"\s*([0-9.eE+-]+)\s*%", size)
        try:
            if percent:
                # A percentage without a metric is for all metrics: its key is the empty text.
                relative[metric] = float(percent[1]) / 100
            elif metric:
                absolute[metric] = float(size)
            else:
                raise ValueError
        except ValueError as error:
            raise InputError(
                f"{text!r} is not a margin", where="--margin", allowed=_MARGINS
            ) from error
    return Options(
        margin=relative.pop("", DEFAULT_MARGIN),
        margins=relative,
        absolute_margins=absolute,
        rarest=_share(rarest),
        test=cast(Literal["rank", "t"], test),
        **more,
    )


def _share(text: str) -> float:
    """Return the share that `10%` or `0.1` stands for. Raises InputError if it is no number."""
    percent = re.fullmatch(r"\s*([0-9.]+)\s*%", text)
    try:
        return float(percent[1]) / 100 if percent else float(text)
    except ValueError as error:
        raise InputError(
            f"{text!r} is not a share of trials", where="--rarest", allowed="10%, or 0.1"
        ) from error


def sides_of(
    arguments: Sequence[str], baseline: str | None, results: Path, labels: Sequence[str] = ()
) -> list[Side]:
    """Return the sides to compare, the baseline first. Each of `arguments` is a side: a run,
    several runs (`RUN,RUN`), or a campaign. If there is only one argument, the variants of its runs
    are the sides. `baseline`: name of a side, or None for the first. `labels` are as for
    `given_labels`. Raises InputError if there is nothing to compare."""
    groups = [runs_of(text, results) for text in arguments]
    _check_once([store for stores in groups for store in stores])
    sides = _variants(groups[0]) if len(groups) == 1 else _runs(groups, arguments)
    # --baseline and --label know a side by its name, and also by the argument that made it.
    texts = arguments if len(groups) > 1 else [side.name for side in sides]
    names = [{side.name, text} for side, text in zip(sides, texts, strict=True)]
    sides = _labelled(sides, names, given_labels(labels))
    if baseline is None:
        return sides
    for side, known in zip(sides, names, strict=True):
        if baseline in {side.name, *known}:
            return [side, *(other for other in sides if other is not side)]
    raise InputError(
        f"no run or variant is named {baseline!r}",
        where="--baseline",
        allowed=", ".join(side.name for side in sides),
    )


def _labelled(
    sides: Sequence[Side], names: Sequence[set[str]], labels: Mapping[str, str]
) -> list[Side]:
    """Return the sides with the labels that the user gave. `labels`: letter of a side, or one of
    its `names` -> label. Raises InputError for a label of no side, or of two."""
    known = [{letter_of(number), *own} for number, own in enumerate(names)]
    for key in labels:
        if not any(key in keys for keys in known):
            raise InputError(
                f"there is no side {key!r} to label",
                where="--label",
                allowed=", ".join(
                    f"{letter_of(number)} ({side.name})" for number, side in enumerate(sides)
                ),
            )
    labelled = []
    for side, keys in zip(sides, known, strict=True):
        label = next((text for key, text in labels.items() if key in keys), None)
        labelled.append(side if label is None else replace(side, name=label, labelled=True))
    chosen = [side.name for side in labelled]
    if twice := [name for name in chosen if chosen.count(name) > 1]:
        raise InputError(f"two sides have the label {twice[0]!r}", where="--label")
    return labelled


def runs_of(text: str, results: Path) -> list[RunStore]:
    """Return the runs that the user named as `RUN`, `RUN,RUN` or a campaign. Raises InputError."""
    if is_campaign(text):
        return campaign_of(text, results)[1]
    names = [text] if Path(text).exists() else text.split(",")
    return [store for name in names for store in read_runs(name, results)]


def _check_once(stores: Sequence[RunStore]) -> None:
    """Raise InputError if a run is named twice, by whatever paths."""
    folders = [store.folder.resolve() for store in stores]
    for store, folder in zip(stores, folders, strict=True):
        if folders.count(folder) > 1:
            raise InputError("this run is named twice", where=str(store.shown_folder))


def _variants(stores: Sequence[RunStore]) -> list[Side]:
    """Return a side for each variant of these runs. Raises InputError if they have fewer than two
    variants."""
    names = variants_of(stores[0].manifest())
    if len(names) < 2:
        raise InputError(
            f"{'a single run' if len(stores) == 1 else 'runs of one side'} without variants cannot "
            "be compared",
            where=stores[0].run_id,
            hint="name a second run, or add `variants` to the workflow; --keep-noise-floor keeps "
            "how runs of the same thing differ",
        )
    return [Side(name, stores[0], name, tuple(stores[1:])) for name in names]


def _runs(groups: Sequence[Sequence[RunStore]], arguments: Sequence[str]) -> list[Side]:
    """Return a side for each group of runs. Its name is that of `_name`. Where several groups have
    the same name (copies of a run), it is the argument as the user gave it."""
    names = [_name(stores) for stores in groups]
    return [
        Side(
            name if names.count(name) == 1 else text,
            stores[0],
            more=tuple(stores[1:]),
        )
        for name, stores, text in zip(names, groups, arguments, strict=True)
    ]


def _name(stores: Sequence[RunStore]) -> str:
    """Name a side: by its only run; by the campaign, if these are all its runs; else by the first
    run and how many more there are."""
    first = stores[0].run_id
    if len(stores) == 1:
        return first
    repeats = [Repeat.of_manifest(store.manifest()) for store in stores]
    campaigns = {repeat.campaign if repeat else None for repeat in repeats}
    if repeats[0] and len(campaigns) == 1 and len(stores) == repeats[0].of:
        return repeats[0].campaign
    return f"{first} and {len(stores) - 1} more"


def write_outputs(
    comparison: Comparison,
    sides: Sequence[Side],
    *,
    json_: str | None,
    html: Path | None,
    csv: Path | None,
) -> None:
    """Write the requested files, and print their paths; None: this file is not requested. If
    `json_` is `-`, only the JSON is printed, and no paths."""
    text = json.dumps(comparison.document(), indent=2, allow_nan=False) + "\n"
    if json_ == "-":
        print(text, end="")
    elif json_ is not None:
        replace_file(Path(json_), text)
    if csv is not None:
        from sfcperf.comparison import comparison_csv

        replace_file(csv, comparison_csv(comparison))
    if html is not None:
        from sfcperf.comparison import comparison_page

        replace_file(html, comparison_page(comparison, sides, html))
    if json_ != "-":
        for path in filter(None, (json_, csv, html)):
            print(f"wrote {path}")


def check_outputs(paths: Sequence[str | Path | None], sides: Sequence[Side]) -> None:
    """Check the output files before anything is computed. None is no file, and `-` is stdout.
    Raises InputError if a file cannot be written, or would replace a document of a run."""
    for path in (Path(name) for name in paths if name is not None and name != "-"):
        if any(store.owns(path.resolve()) for side in sides for store in side.stores):
            raise InputError("this file belongs to the run itself", where=str(path))
        folder = path.resolve().parent
        if not folder.is_dir():
            raise InputError("there is no such folder", where=str(folder))
        if path.is_dir():
            raise InputError("this is a folder", where=str(path))
