"""Every use of torch's private parts, and every difference between its releases (2.10 to 2.15):
nothing outside of this package touches either.

Each function prefers what the newest release offers and falls back by looking, not by comparing
version numbers: nightlies and vendors' builds carry versions of their own. Whether what it reaches
for is still there, and still does what it did, `trials.py` asks before the first instance."""
