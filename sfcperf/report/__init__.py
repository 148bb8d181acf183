"""HTML reports of one run and of many, and the summary in the terminal."""
