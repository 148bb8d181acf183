"""Map the top-level folders into the one import package `sfcperf` (see docs/decisions/0001)."""

from setuptools import find_packages, setup

TREES = {"sfcperf.drivers": "drivers", "sfcperf.vnfs": "vnfs"}
DATA = {
    "sfcperf.schemas": "schemas",
    "sfcperf.workflows": "workflows",
    "sfcperf.playbooks": "playbooks",
}

packages = find_packages(include=["sfcperf", "sfcperf.*"])
for package, folder in TREES.items():
    packages += [package, *(f"{package}.{name}" for name in find_packages(folder))]
packages += DATA

setup(
    packages=packages,
    package_dir={"sfcperf": "sfcperf", **TREES, **DATA},
    # The cloud of the tests is part of the tree alone.
    exclude_package_data={"sfcperf.playbooks": ["openstack/*", "openstack/*/*"]},
)
