"""Model of PPTMon's formats (dataplane/pptmon/README.md): the oracle for its BPF programs."""
