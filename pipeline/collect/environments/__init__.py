"""Environments: what is a right answer to a row."""
