"""Start a service of OpenStack by its module: launch.py MODULE NAME ARGUMENTS...

Debian's packages that bring the programs of these services also bring units that start them.
"""

import sys
from importlib import import_module

# The folder of this file is no place for their modules.
sys.path.pop(0)
module = sys.argv.pop(1)
sys.argv.pop(0)
sys.exit(import_module(module).main())
