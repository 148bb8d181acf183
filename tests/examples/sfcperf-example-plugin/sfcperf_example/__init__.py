"""A probe and a driver for SFCPerf, outside its tree."""
