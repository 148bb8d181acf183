"""Units, colours, words and HTML parts that figures, reports and comparisons share."""
