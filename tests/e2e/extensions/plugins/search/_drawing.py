"""What searches of this folder share: how a legal cell is drawn."""

from __future__ import annotations

import random

from mapper.search.space import Choice, choice
from mapper.search.templates import Space, Template


def drawn(draw: random.Random, space: Space, legal: list[Template], proof: str) -> Choice:
    """A cell of one of the templates, each as likely as any other, then each of its cells."""
    template = draw.choice(legal)
    cells = space.legal(template)
    cell = cells[[draw.randrange(cells.size)]]
    return choice(template.cell(int(cell[0])), space.costs(template, cell), 0, template.grid.size, 1, proof)
