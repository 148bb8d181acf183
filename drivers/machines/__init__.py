"""Driver `machines`: nodes on several machines, which are reached by SSH."""
