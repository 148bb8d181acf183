"""Control: the run, its journal, resume, health, signals."""
