"""ptc.compile: proxies, entry caches, guards at run time, live weights."""
