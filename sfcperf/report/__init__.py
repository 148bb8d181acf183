"""HTML reports of one run and of many; results in the terminal. Nothing is estimated here."""
