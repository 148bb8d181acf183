"""The workflow's figures for a paper: SVG, PDF and PNG, with their data as CSV beside them.

A figure is one column of a two-column IEEE page wide (3.5 in, 88.9 mm), in 8 pt type, with TrueType
fonts embedded in the PDF (IEEE PDF eXpress refuses Type 3). The same results give the same bytes.
"""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfcperf.errors import InputError
from sfcperf.results.store import RunStore, replace_file
from sfcperf.visualization import palette
from sfcperf.visualization.series import Plot, Point, Series, level_text, resolve
from sfcperf.workflow.model import FigureSpec, Workflow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.typing import RcKeyType

    from sfcperf.analysis.fits import LineFit

FORMATS = ("svg", "pdf", "png")

_WIDTH_IN = 3.5
_HEIGHT_IN = 2.55
_PNG_DPI = 300
_NOTE_COLUMNS = 92
_STYLE: dict[RcKeyType, Any] = {
    # Both families come with matplotlib: the same figure on every machine.
    "font.family": ["STIXGeneral", "DejaVu Sans"],
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.linewidth": 0.4,
    "grid.color": "#d9d9d9",
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 7,
    "legend.framealpha": 0.9,
    "legend.edgecolor": "none",
    "lines.linewidth": 1.0,
    "lines.markersize": 4,
    "errorbar.capsize": 2,
    "hatch.linewidth": 0.5,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "sfcperf",
    # A `$` in the workflow's words is a dollar, not TeX.
    "text.parse_math": False,
}
_NO_DATES: dict[str, dict[str, None]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {"Software": None},
}


def draw_figures(run: RunStore, workflow: Workflow, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Draw every figure of the workflow into the run's `figures/`; gives the files.

    Raises InputError when a figure's name is not a plain file name.
    """
    files = []
    summaries = run.summaries()
    scenarios = [scenario.levels for scenario in workflow.scenarios]
    for spec in workflow.figures:
        run.figures.mkdir(exist_ok=True)
        target = run.figures / _file_name(spec)
        plot = resolve(spec, summaries, scenarios)
        files += draw(plot, fits_of(run, spec), target, formats)
        replace_file(table := target.with_name(target.name + ".csv"), data_csv(plot))
        files.append(table)
    return files


def fits_of(run: RunStore, spec: FigureSpec) -> list[LineFit]:
    """Fitted lines of a figure, none when it asks for none."""
    if spec.fit == "none":
        return []
    from sfcperf.analysis.fits import fit_lines

    return fit_lines(run, spec)


def fits_by_series(plot: Plot, fits: Sequence[LineFit]) -> dict[str, LineFit]:
    """Name of a series -> its fitted line. A fit pools the factors that neither axis nor series
    names: the first of the series that share it stands for it."""
    by_name: dict[str, LineFit] = {}
    for fit in fits:
        same = [s for s in plot.series if s.level == fit.series]
        if same:
            by_name[same[0].name] = fit
    return by_name


def fit_text(fit: LineFit) -> str:
    """How well the line fits, for a legend."""
    if fit.r_squared is None:
        return f"fit over {fit.n} trials, R² undefined"
    of_trials = f"R² = {_three_digits(fit.r_squared)}"
    if fit.r_squared_means is None:
        return of_trials
    return f"{of_trials}, of means {_three_digits(fit.r_squared_means)}"


def _three_digits(r_squared: float) -> str:
    return f"{r_squared:.4f}" if r_squared > 0.999 else f"{r_squared:.3f}"


def draw(
    plot: Plot, fits: Sequence[LineFit], target: Path, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write `target` with the ending of each format."""
    import matplotlib

    files = []
    with matplotlib.rc_context(_STYLE):
        figure = _figure(plot, fits)
        # Lay out once, not once for each format.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for name in formats:
            path = target.with_name(f"{target.name}.{name}")
            beside = path.with_name(f".{path.name}.new")
            figure.savefig(beside, format=name, dpi=_PNG_DPI, metadata=_NO_DATES[name])
            files.append(beside.replace(path))
    return files


def data_csv(plot: Plot) -> str:
    """The points of a figure: factor levels, statistics in the unit of the files, trial ids, and
    `y`, `y_low`, `y_high` as drawn."""
    factors = list(dict.fromkeys(f for s in plot.series for p in s.points for f in p.scenario))
    statistics = ("n", "mean", "median", "stdev", "ci_low", "ci_high", "confidence", "method")
    drawn = ("y", "y_low", "y_high")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head = ["series", *factors, "probe", "metric", "unit", *statistics, *drawn]
    writer.writerow([*head, "state", "reasons", "trials", "excluded"])
    for series in plot.series:
        for point in series.points:
            row = point.summary
            levels = [level_text(point.scenario[f]) if f in point.scenario else "" for f in factors]
            cells = [series.name, *levels, plot.spec.probe, plot.spec.metric]
            if row is None:
                blanks = [""] * (1 + len(statistics) + len(drawn))
                writer.writerow([*cells, *blanks, point.state, "no trial", "", ""])
                continue
            scaled = [_scaled(v, plot.spec) for v in (row.mean, row.ci_low, row.ci_high)]
            values = [row.unit, *(getattr(row, name) for name in statistics), *scaled]
            ids = ("; ".join(row.reasons), " ".join(row.trials), " ".join(row.excluded))
            writer.writerow([*cells, *values, point.state, *ids])
    return text.getvalue()


def _figure(plot: Plot, fits: Sequence[LineFit]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH_IN, _HEIGHT_IN), layout="constrained")
    axes = figure.add_subplot()
    by_series = fits_by_series(plot, fits)
    for index, series in enumerate(plot.series):
        fit = by_series.get(series.name)
        if plot.spec.kind == "bar":
            _bars(axes, plot, series, index)
        else:
            _line(axes, plot, series, index, joined=not fits)
        if fit is not None:
            _fit(axes, plot, fit, index)
        _missing(axes, plot, series, index)
    _axes(axes, plot)
    _legend(axes, plot, by_series)
    note = textwrap.fill(_note(plot, by_series), _NOTE_COLUMNS)
    figure.supxlabel(note, fontsize=6, color="#444444", x=0.01, ha="left")
    return figure


def _line(axes: Axes, plot: Plot, series: Series, index: int, *, joined: bool) -> None:
    look = palette.style(index)
    shown = [point for point in series.points if point.state != "missing"]
    x = [plot.position(point.level) for point in shown]
    if joined:
        axes.plot(x, [_y(p, plot) for p in shown], linestyle=look.line, color=look.colour)
    for state, face in (("trusted", look.colour), ("untrusted", "white")):
        points = [point for point in shown if point.state == state]
        errors = [_error(point, plot) for point in points]
        axes.errorbar(
            [plot.position(point.level) for point in points],
            [_y(point, plot) for point in points],
            yerr=[[below for below, _ in errors], [above for _, above in errors]],
            fmt=look.marker,
            color=look.colour,
            markerfacecolor=face,
            elinewidth=0.8,
            capthick=0.8,
        )


def _bars(axes: Axes, plot: Plot, series: Series, index: int) -> None:
    look = palette.style(index)
    for point in series.points:
        if point.state == "missing":
            continue
        trusted = point.state == "trusted"
        below, above = _error(point, plot)
        axes.bar(
            _bar_position(plot, point, index),
            _y(point, plot),
            width=0.94 * _bar_width(plot),
            yerr=[[below], [above]],
            color=look.colour if trusted else "white",
            edgecolor="white" if trusted else look.colour,
            hatch=3 * look.hatch,
            error_kw={"elinewidth": 0.8, "capthick": 0.8},
        )


def _fit(axes: Axes, plot: Plot, fit: LineFit, index: int) -> None:
    """The fitted line over the levels that were measured, not beyond them."""
    look = palette.style(index)
    positions = [plot.position(level) for level in plot.levels]
    ends = [min(positions), max(positions)]
    values = [(fit.intercept + fit.slope * x) * plot.spec.y_scale for x in ends]
    axes.plot(ends, values, linestyle=look.line, linewidth=0.8, color=look.colour)


def _missing(axes: Axes, plot: Plot, series: Series, index: int) -> None:
    """A cross at the foot of the plot for each scenario without a number."""
    look = palette.style(index)
    bars = plot.spec.kind == "bar"
    for point in series.points:
        if point.state == "missing":
            x = _bar_position(plot, point, index) if bars else plot.position(point.level)
            height = 0.03 if bars else 0.03 + 0.06 * index
            place = axes.get_xaxis_transform()
            axes.plot([x], [height], "x", color=look.colour, transform=place, clip_on=False)


def _axes(axes: Axes, plot: Plot) -> None:
    axes.set_xlabel(_printable(plot.spec.x_label))
    axes.set_ylabel(_printable(plot.spec.y_label))
    positions = [plot.position(level) for level in plot.levels]
    if plot.spec.kind == "bar":
        positions = [float(place) for place in range(len(plot.levels))]
        axes.grid(False, axis="x")
    few = len(positions) <= 16
    if few:
        labels = [_printable(level_text(level)) for level in plot.levels]
        axes.set_xticks(positions, labels)
    if positions:
        margin = 0.5 if plot.spec.kind == "bar" else 0.05 * max(positions[-1] - positions[0], 1)
        axes.set_xlim(min(positions) - margin, max(positions) + margin)
    lows = [v for row in plot.summaries for v in (row.mean, row.ci_low) if v is not None]
    if min(lows, default=0) >= 0:
        # From zero, so that lengths compare as the numbers do.
        axes.set_ylim(bottom=0)
        highs = [v for row in plot.summaries for v in (row.mean, row.ci_high) if v is not None]
        axes.set_ylim(top=1.08 * max(highs, default=0) * plot.spec.y_scale or 1)


def _legend(axes: Axes, plot: Plot, fits: dict[str, LineFit]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for index, series in enumerate(plot.series):
        look = palette.style(index)
        fit = fits.get(series.name)
        name = _printable(series.name or (plot.spec.title if fit else ""))
        label = f"{name} ({fit_text(fit)})".lstrip() if fit else name
        if not label:
            continue
        if plot.spec.kind == "bar":
            handles.append(Patch(facecolor=look.colour, hatch=3 * look.hatch, edgecolor="white"))
        else:
            handles.append(Line2D([], [], color=look.colour, marker=look.marker, ls=look.line))
        # matplotlib hides labels that start with an underscore.
        handles[-1].set_label(f" {label}" if label.startswith("_") else label)
    if handles:
        legend = axes.legend(handles=handles, loc="best", handlelength=2.6)
        legend.get_frame().set_linewidth(0)


def _note(plot: Plot, fits: Mapping[str, LineFit]) -> str:
    parts = [plot.interval_note]
    if fits:
        parts.append("Lines: least-squares fits to the trials.")
    if plot.untrusted:
        parts.append(f"Hollow: some trials untrusted or failed ({_points(plot.untrusted)}).")
    if plot.missing:
        parts.append(f"×: no valid trial ({_points(plot.missing)}).")
    return " ".join(parts)


def _points(count: int) -> str:
    return "1 point" if count == 1 else f"{count} points"


def _bar_width(plot: Plot) -> float:
    return 0.8 / max(len(plot.series), 1)


def _bar_position(plot: Plot, point: Point, index: int) -> float:
    offset = (index - (len(plot.series) - 1) / 2) * _bar_width(plot)
    return plot.place(point.level) + offset


def _y(point: Point, plot: Plot) -> float:
    mean = point.summary.mean if point.summary is not None else None
    return float("nan") if mean is None else mean * plot.spec.y_scale


def _error(point: Point, plot: Plot) -> tuple[float, float]:
    """Distances from the mean down and up to the ends of the interval; not a number (nothing is
    drawn) without an interval."""
    row = point.summary
    if row is None or row.mean is None or row.ci_low is None or row.ci_high is None:
        return float("nan"), float("nan")
    scale = plot.spec.y_scale
    # The interval of another location (a median) need not hold the mean.
    return max(row.mean - row.ci_low, 0.0) * scale, max(row.ci_high - row.mean, 0.0) * scale


def _scaled(value: float | None, spec: FigureSpec) -> float | str:
    return "" if value is None else value * spec.y_scale


def _printable(text: str) -> str:
    """Text that every format can hold: XML has no place for control characters."""
    return "".join(c if c.isprintable() else "�" for c in text)


def _file_name(spec: FigureSpec) -> str:
    if spec.name in ("", ".", "..") or Path(spec.name).name != spec.name:
        raise InputError(
            f"the figure name {spec.name!r} is not a plain file name",
            where="/figures",
            allowed="letters, digits, `-` and `_`",
        )
    return spec.name
