"""Results for people: every page, table and drawing, made from the summary of a result alone.

Begin with ``run/summary.py`` (what a result looks like as JSON) and ``run/layouts.py`` (the tables that are made of it;
``kit/table.py`` says what a table is). ``kit`` has what all share, ``charts`` the drawings; the other folders are one
for each kind of result, and each has its tables in a ``layouts.py``.
"""
