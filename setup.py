"""Make manual pages from the verbs; all else is in pyproject.toml."""

import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent.resolve()


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


setup(cmdclass={"build_py": BuildWithManualPages})
