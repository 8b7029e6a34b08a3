"""What every router takes, whatever its parameters, and the most ports that one may have."""

from __future__ import annotations

WIRE = 1  # cycles in a link beyond its delay: it is written at the end of one cycle and read at the start of another
CROSSBAR = 1  # cycles through the switch
MOST_PORTS = 60  # sets of ports and of virtual channels are bits of one word
