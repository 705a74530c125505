"""The names of the library, in a fresh process each."""

import pkgutil
import subprocess
import sys

import pytest

import pipeline


@pytest.mark.parametrize("name", pipeline.__all__)
def test_touching_a_name_turns_none_into_a_module(name: str) -> None:
    code = (
        f"import pipeline, types; pipeline.{name}; from pipeline import *; "
        "assert not [n for n in pipeline.__all__ if isinstance(getattr(pipeline, n), types.ModuleType)]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = pipeline.nonsense


def test_no_name_is_that_of_a_module() -> None:
    modules = {module.name for module in pkgutil.iter_modules(pipeline.__path__)}
    assert not modules & set(pipeline.__all__)
