"""Passes that express a graph in what a target has."""
