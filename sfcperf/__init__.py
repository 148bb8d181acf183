"""SFCPerf: performance evaluation of service function chains (papers: Sanz et al., SFCPerf)."""

__version__ = "0.1.0"
