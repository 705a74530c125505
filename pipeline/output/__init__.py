"""Frames → files: the only writer, whole or not at all."""
