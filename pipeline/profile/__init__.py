"""Aligned rollouts → figures: one module a grain."""
