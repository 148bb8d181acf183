"""Control: runs, their journal, resume, health and signals.

Other packages use `run.start` and `run.resume`, `validation`, `clean.clean`, `publishing`,
`events.Listener`, `state.StateDir`, `lock` and `interrupts`. They import these modules directly:
the command line must not load all of a run when it needs only one of them.
"""
