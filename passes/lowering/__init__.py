"""Passes that express a graph in the ops of a target."""
