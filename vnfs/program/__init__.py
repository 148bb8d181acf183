"""Any program as a VNF, described in the workflow alone."""
