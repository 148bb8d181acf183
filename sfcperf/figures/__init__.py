"""Figures of one run or of many: which, of what points, drawn how, as which files."""
