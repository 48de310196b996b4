#!/usr/bin/env python
"""Django's command line: `manage.py run`, `simulate`, `ingest`, `migrate` and the rest."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")
    from kubesched_ui.runtime.env import InvalidEnvironment

    try:
        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)
    except InvalidEnvironment as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
