"""A reader of .ktrace files that shares no code with ktrace: written from docs/format.md alone, as a stranger to ktrace would.
Where the page and this package differ, or the page leaves open what this package had to decide, the page is at fault.

    container.py  the file: header, section headers, checksums            1
    sections.py   what is in the sections, and the rules that they obey   2, 3.1, 4
    processes.py  several processes, and who recorded             2.10, 2.11
    rings.py      from a ring's slots to events                           3.2, 3.3, 3.6
    clocks.py     clocks of 64 bits, and the order of a wave's events     3.4
    pairing.py    which end closes which range                            3.5
    trace.py      all of them together

The numbers are the page's.
"""

from .container import Refused
from .trace import Trace, load

__all__ = ["Refused", "Trace", "load"]
