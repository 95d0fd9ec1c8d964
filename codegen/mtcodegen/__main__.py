"""``python -m mtcodegen``."""

import sys

from mtcodegen.cli import main

sys.exit(main())
