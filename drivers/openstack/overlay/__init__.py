"""The chaining `overlay`: SFFs of SFCPerf in the VMs make the chain, over VXLAN-GPE."""
