"""Frames → text for people and objects for programs."""
