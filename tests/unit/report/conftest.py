from support.records.shown_run import new_run, run, summaries

__all__ = ["new_run", "run", "summaries"]
