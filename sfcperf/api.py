"""SFCPerf in Python, for notebooks: run workflows, and read and compare runs as tables.

    import sfcperf

    run = sfcperf.run("quickstart", overrides=["design.rounds=6"])
    run.summaries                     # a pandas DataFrame
    sfcperf.load("results/20261124-...").samples
    sfcperf.compare("results/a", "results/b").rows

Errors are those of the command line (`sfcperf.errors`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfcperf.errors import InputError

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from sfcperf.analysis.comparison import Comparison
    from sfcperf.results.store import RunStore

RESULTS = Path("results")


class Run:
    """Gives the tables of one run folder. Each access reads the files again, so that the tables of
    a run in progress grow. Columns are those of `sfcperf query`, documented in
    docs/reference/results.md."""

    def __init__(self, store: RunStore) -> None:
        self._store = store

    def __repr__(self) -> str:
        return f"<sfcperf run {self.folder}>"

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self._store.folder

    @property
    def manifest(self) -> Mapping[str, Any]:
        """`run.json`: status, versions, the machine, probes and design. Raises InputError."""
        return self._store.manifest()

    @property
    def verdict(self) -> str:
        """The first statement of the report, and its reasons below, a line each. Raises
        InputError."""
        from sfcperf.report.verdict import verdict_of

        verdict = verdict_of(self.manifest, self._store.trials(), self._store.summaries())
        return "\n".join([verdict.headline, *(f"- {finding}" for finding in verdict.findings)])

    @property
    def summaries(self) -> pandas.DataFrame:
        """A row per scenario, probe and metric. `estimate` is the centre that the workflow declares
        (`centre`), with its interval from `estimate_low` to `estimate_high`, or in
        `estimate_withheld` why it has none; `mean` and `median` have intervals of their own."""
        return self._view("summaries")

    @property
    def trials(self) -> pandas.DataFrame:
        """A row per trial, of any status."""
        return self._view("trials")

    @property
    def samples(self) -> pandas.DataFrame:
        """A row per number that a probe reported."""
        return self._view("samples")

    @property
    def telemetry(self) -> pandas.DataFrame:
        """A row per observation of a monitor; empty if there was none."""
        return self._view("telemetry")

    @property
    def flows(self) -> pandas.DataFrame:
        """A row per flow and window in which a function listed it; empty if none did."""
        return self._view("flows")

    @property
    def claims(self) -> pandas.DataFrame:
        """A row per claim of the workflow, with the verdict as claims.json has it; empty if it has
        none."""
        return self._view("claims")

    def query(self, sql: str) -> pandas.DataFrame:
        """Answer an SQL question over the views of `sfcperf query`. Raises InputError."""
        _need_pandas()
        return self.arrow(sql).to_pandas()

    def arrow(self, sql: str) -> pyarrow.Table:
        """Answer an SQL question as `query` does, with an Arrow table, which `polars.from_arrow`
        takes, among others."""
        from sfcperf.query.engine import opened

        with opened([self._store]) as database, database.ask(sql) as rows:
            return rows.read_all()

    def _view(self, name: str) -> pandas.DataFrame:
        return self.query(f"select * from {name}")


def _need_pandas() -> None:
    """Raise EnvironmentLacks if pandas is not installed: it is an extra."""
    from sfcperf.environment.gather import refuse_unmet
    from sfcperf.environment.tools import python_packages

    refuse_unmet([python_packages(["pandas"], "pandas")])


@dataclass(frozen=True)
class ComparisonResult:
    """A comparison: its rows as a table, and as `sfcperf compare` prints them."""

    comparison: Comparison

    @property
    def rows(self) -> pandas.DataFrame:
        """A row per scenario and metric: both sides, the difference, its interval, the verdict. The
        columns are those of `sfcperf compare --csv`."""
        _need_pandas()
        import pandas

        from sfcperf.comparison import comparison_csv

        return pandas.read_csv(StringIO(comparison_csv(self.comparison)))

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        from sfcperf.comparison import headline

        return headline(self.comparison)

    def __str__(self) -> str:
        from rich.console import Console

        from sfcperf.comparison import comparison_tables, comparison_texts

        text = StringIO()
        console = Console(file=text, width=140)
        console.print(self.headline, markup=False, highlight=False)
        tables = comparison_tables(self.comparison, console.width)
        for part in (*tables, *comparison_texts(self.comparison)):
            console.print(part)
        return text.getvalue()


def load(run: str | Path, results: str | Path = RESULTS) -> Run:
    """Open a run: by its folder, by its name in the folder `results` (`latest` is the last one), or
    by a package that was made of it. Raises InputError."""
    from sfcperf.cli.inputs import read_run

    return Run(read_run(str(run), Path(results)))


def run(
    workflow: str | Path,
    *,
    results: str | Path = RESULTS,
    overrides: Sequence[str] = (),
    driver: str | None = None,
    profile: str | None = None,
) -> Run:
    """Run a workflow file, or a shipped workflow by its name, into a new folder of `results`, and
    return the run when it has ended. Progress goes to stderr. `overrides` are such as
    `design.rounds=6`. No error is raised for trials that failed or are not trusted: `trials` lists
    them.

    Only the main thread can run a workflow. Raises InputError or EnvironmentLacks before anything
    is created, and InputError for a workflow that asks for several runs (`design.runs`).
    """
    from sfcperf.cli.inputs import read_workflow
    from sfcperf.cli.terminal.lines import LineDisplay
    from sfcperf.control.run import start

    loaded, source = read_workflow(str(workflow), list(overrides), driver, profile)
    if loaded.design.runs > 1:
        raise InputError(
            f"{loaded.design.runs} runs are a campaign, which `sfcperf run` measures",
            where="/design/runs",
            allowed="1",
        )
    command = ["sfcperf.run", str(workflow)]
    outcome = start(loaded, Path(results), command=command, listener=LineDisplay(), source=source)
    return Run(outcome.store)


def compare(
    *sides: str | Path | Run,
    results: str | Path = RESULTS,
    margins: Sequence[str] = (),
    **options: Any,
) -> ComparisonResult:
    """Compare runs, or the variants of one; the first is the baseline. A side is a run, several
    (`"RUN,RUN"`), or a campaign. `margins` are as for `sfcperf compare --margin`. `options` are
    other fields of `sfcperf.analysis.comparison.Options`; `rarest` is a text such as `10%`. Raises
    InputError."""
    from sfcperf.analysis.comparison import compare_all
    from sfcperf.cli.comparing import options_of, sides_of
    from sfcperf.cli.noise_floor import known_floors

    named = [str(side.folder) if isinstance(side, Run) else str(side) for side in sides]
    settings = {"test": "rank", "rarest": "10%", **options}  # the defaults of `sfcperf compare`
    resolved = sides_of(named, None, Path(results))
    # The noise floor is for single runs: several runs show by themselves how far runs differ, and
    # variants are measured in the same run.
    single = len(resolved[0].stores) == 1 and not resolved[0].variant
    floors = known_floors() if single else None
    return ComparisonResult(
        compare_all(resolved[0], resolved[1:], options_of(margins, **settings), floors)
    )
