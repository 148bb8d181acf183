"""Names of files in a package, and limits of their size."""

from __future__ import annotations

FORMAT = 1
"""`schema_version` of package.json as this SFCPerf writes it. Packages with a newer one are
refused."""

CRATE = "ro-crate-metadata.json"
MANIFEST = "package.json"
HASHES = "manifest-sha256.txt"
README = "README.md"
CITATION = "CITATION.cff"
"""How to cite the package; only if it has authors."""
PYTHON_PACKAGES = "environment/python-packages.txt"
SYSTEM_PACKAGES = "environment/system-packages.txt"
RUNS = "runs"
MODULES = "modules"
SOFTWARE = "software"
"""Folder with SFCPerf's wheel, and what that needs; only if the user wanted it."""
REQUIREMENTS = "software/requirements.txt"
WORKFLOW_FILES = "workflow-files"
"""Folder with a folder per run: the files that its workflow refers to by relative paths (VNFDs, and
files in knobs), at the places where these paths lead."""

CAPTURES = (".pcap", ".pcapng", ".pcap.gz", ".pcapng.gz", ".records.jsonl")
"""Ends of the names of captures: packets, and records of flows with their addresses. Their owner
may not want to publish them."""

MAX_ENTRIES = 200_000
MAX_PATH_BYTES = 1024
MAX_NAME_BYTES = 255
MAX_DEPTH = 32
MAX_BYTES = 16 << 30
"""Size of all files, unpacked, unless the user allows more."""
MAX_RATIO = 200
"""Largest ratio of unpacked to packed size of the whole package: more looks like a zip bomb.
Measurements compress 3 to 20 times."""
RATIO_FROM_BYTES = 256 << 20
"""Smaller packages may have any ratio: they cannot fill a disk."""
MAX_SIGNATURE_BYTES = 1 << 16
"""Largest size of a signature; ssh-keygen and minisign write some hundred bytes."""
MAX_KEYS_BYTES = 1 << 20
"""Largest size of a file of public keys."""
