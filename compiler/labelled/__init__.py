"""Series and DataFrames in functions that are traced: arrays with labels, which follow pandas' rules."""
