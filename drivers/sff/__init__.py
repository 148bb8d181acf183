"""Chains by SFFs of ours: what drivers share whose nodes run their own SFFs.

A driver lays a scenario out (`layout`), builds nodes, attachments and what connects the nodes, and
starts an SFF in each node: by the data plane of this package, eBPF, or by another one that derives
from `base.Sff`.
"""
