"""SFCMon: heavy hitters of service function chains, and the flows of each."""
