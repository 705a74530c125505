"""Frames → frames: statistics, comparisons, selections; pure, and seeded where they draw."""
