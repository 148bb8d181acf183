"""Model of PPTMon's formats (vnfs/pptmon/README.md): the oracle for its BPF programs."""
