"""Calls of the cloud's APIs."""
