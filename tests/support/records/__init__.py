"""Run folders and trials that are made up for tests."""
