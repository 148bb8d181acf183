"""Traffic with labels: real tools against real servers, so that each packet's kind is known."""
