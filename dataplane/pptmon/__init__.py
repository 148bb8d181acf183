"""PPTMon: packet processing time of VNFs, in band (Van Tu et al., CNSM 2020)."""
