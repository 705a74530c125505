"""Imports the modules that commands need, for processes that are born with them."""

import pkgutil
from importlib import import_module

import typer

import pipeline
import queries
from pipeline.cli.main import application

for package in (pipeline, queries):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        import_module(module.name)
typer.main.get_command(application())  # which imports what builds its parameters
