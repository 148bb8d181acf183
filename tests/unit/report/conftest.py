from support.records.shown_run import new_run, run, sound_run, summaries

__all__ = ["new_run", "run", "sound_run", "summaries"]
