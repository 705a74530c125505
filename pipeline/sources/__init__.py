"""Bytes → rows → columns: where rows come from, how they are read, in parallel."""
