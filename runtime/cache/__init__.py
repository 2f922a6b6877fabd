"""The disk cache: entries, keys, eviction, and the guards stored with entries."""
