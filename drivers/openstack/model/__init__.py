"""What the workflow says of a run: configuration, specifications of machines and chains."""
