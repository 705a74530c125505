"""`make bench`: how fast and how large `rollprof profile` is, as ratios taken in one run."""
