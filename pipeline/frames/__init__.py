"""Columns → LazyFrames: one module a grain."""
