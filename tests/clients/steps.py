"""The steps of a client's story, in the order in which they are written. A step that raises has
failed; those after it still run, because most of them begin with tables of their own."""

import time
import traceback

_steps = []


def step(*marks):
    """Adds a function to the story; its docstring is its name. Marks choose steps for short runs."""
    def add(function):
        _steps.append((function, set(marks)))
        return function
    return add


def tell(story, only=None):
    """Runs the steps (those with the mark `only`, if given), prints the counts, returns the exit code."""
    passed = failed = 0
    for function, marks in _steps:
        if only and only not in marks:
            continue
        begin = time.monotonic()
        try:
            function(story)
            passed += 1
            word = "ok    "
        except Exception:
            failed += 1
            word = "FAILED"
            traceback.print_exc()
        print(f"{word} {time.monotonic() - begin:5.1f} s  {function.__doc__.splitlines()[0]}", flush=True)
    print(f"{passed} passed, {failed} failed, 0 skipped", flush=True)
    return 1 if failed or not passed else 0


def raises(kind, call, *args, **options):
    """The exception that a call must raise."""
    try:
        call(*args, **options)
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected")
