"""Averages, spread, order statistics, histograms, and reductions that leave out NaN."""
