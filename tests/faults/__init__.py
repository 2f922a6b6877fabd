"""The fault campaign: what hurts a process or its files, and what becomes of it. Run it with ``pytest -m faults``."""
