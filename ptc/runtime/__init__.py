"""Sources that ship inside an artifact. Holds C++ files; no Python lives here."""
