"""What goes wrong when a function is called."""

import pytest


def code(error, function, *args, **kwargs):
    """Return the code of the error that a call raises."""
    with pytest.raises(error) as caught:
        function(*args, **kwargs)
    return caught.value.diagnostics[0].code
