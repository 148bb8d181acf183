"""SQL over the records of runs, by DuckDB (`sfcperf query`)."""
