"""What a package has for those who review it, cite it or install its SFCPerf."""
