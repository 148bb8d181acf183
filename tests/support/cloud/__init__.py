"""OpenStack for tests: projects, guests, broken APIs."""
