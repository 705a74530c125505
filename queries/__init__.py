"""Questions about a run: one a file, LazyFrames → LazyFrame."""
