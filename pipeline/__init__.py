"""Profiles of reinforcement-learning rollouts."""
