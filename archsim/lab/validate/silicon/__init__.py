"""Suite ``silicon``: the times of operators on chips that exist. Begin with ``suite``."""
