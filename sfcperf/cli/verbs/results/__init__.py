"""Verbs that show, compare or send the results of runs."""
