"""Parts of benchmarks/analysis/truth.py."""
