"""The `ptc` command. Installed as `ptc_cli`; arguments, rendering and exit codes only."""
