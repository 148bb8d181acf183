"""Map the top-level folders into the one import package `sfcperf` (see docs/decisions/0001), and
make manual pages from the verbs."""

import sys
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent.resolve()

TREES = {"sfcperf.drivers": "drivers", "sfcperf.vnfs": "vnfs"}
DATA = {
    "sfcperf.schemas": "schemas",
    "sfcperf.workflows": "workflows",
    "sfcperf.playbooks": "playbooks",
}


class BuildWithManualPages(build_py):
    """Also writes the manual pages, which pip puts where man(1) looks beside a `bin` in PATH."""

    def run(self):
        """Do both."""
        super().run()
        sys.path.insert(0, str(HERE))
        from sfcperf.cli import man_pages

        folder = Path(self.get_finalized_command("build").build_base, "man")
        pages = [str(page) for page in man_pages.write(folder)]
        self.distribution.data_files = [("share/man/man1", pages)]


packages = find_packages(include=["sfcperf", "sfcperf.*"])
for package, folder in TREES.items():
    packages += [package, *(f"{package}.{name}" for name in find_packages(folder))]
packages += DATA

setup(
    cmdclass={"build_py": BuildWithManualPages},
    packages=packages,
    package_dir={"sfcperf": "sfcperf", **TREES, **DATA},
    # The cloud of the tests is part of the tree alone.
    exclude_package_data={"sfcperf.playbooks": ["openstack/*", "openstack/*/*"]},
)
