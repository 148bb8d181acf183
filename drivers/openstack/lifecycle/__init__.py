"""How VMs and chains come into being on OpenStack: by nova, heat or Tacker."""
