"""One module a command: its arguments, one call into ptc, and the rendering of what comes back."""
