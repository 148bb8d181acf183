"""Claims: whether a run agrees with what a paper, or its author, says of the results."""
