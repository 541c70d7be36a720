"""`python -m ptc_cli`, and `python -m cli` in a checkout."""

from .main import app_main

app_main()
