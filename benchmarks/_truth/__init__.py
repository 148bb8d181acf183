"""Parts of benchmarks/truth.py."""
