"""`sfcperf report RUN`: make summary, figures and report anew from the record of truth."""

from __future__ import annotations

from sfcperf.cli.arguments import RESULTS, ResultsOption, RunArgument


def report(run: RunArgument, results: ResultsOption = RESULTS) -> None:
    """Make summary, figures and report of a run anew, from its folder alone."""
    from sfcperf.cli.inputs import open_run
    from sfcperf.cli.outcome import print_places, print_summary
    from sfcperf.control import publishing
    from sfcperf.errors import EnvironmentLacks

    store = open_run(run, results)
    # A damaged folder is the user's to know about, not a failed step.
    store.manifest()
    store.trials()
    problems = [*publishing.analyse(store), *publishing.publish_report(store)]
    print_summary(store)
    print_places(store)
    if problems:
        raise EnvironmentLacks("not everything could be made:\n" + "\n".join(problems))
