"""From a Python call to a running kernel; the only place with disk, device, time and environment."""
