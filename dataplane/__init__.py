"""What carries, generates and observes the packets of chains, below the functions of vnfs/."""
