"""Ansible playbooks that prepare machines."""
