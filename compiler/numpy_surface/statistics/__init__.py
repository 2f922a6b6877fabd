"""Averages, spread, order statistics, histograms, and reductions that ignore NaN."""
