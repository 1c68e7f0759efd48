"""``python -m mastd`` is the command `mastd`."""

import sys

from mastd.cli import main

sys.exit(main())
