"""The parts of a bundle on disk: archive, manifest, arrays and documents."""
