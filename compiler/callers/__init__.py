"""Questions about the code that calls Tracemill: which frames are the user's, and what their statements say."""
