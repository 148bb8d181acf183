"""Agents: sfcperf on another machine, which calls functions there for the one that controls the run
(docs/decisions/0044)."""

from sfcperf.hosts.agent.connection import Agent, AgentAccess

__all__ = ["Agent", "AgentAccess"]
