"""The captured program and its functional form."""
