"""Figures of one run or of many: points, choice, drawing, files."""
