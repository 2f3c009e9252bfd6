"""Random tables, histories and continuous queries: ``generate_world(seed)``, ``generate_query(tables, seed)``.

Modules: tables (tables and their records), queries (the structure of a query and its SQL), expressions and generator
(random queries), shrink (smaller queries and histories that still fail), streams (a batch equals a stream).

Each table has a column ``h``, the number of a history. A keyed query has it in all keys, joins and results, so one
continuous query checks many histories; without keys, a query is over one history.
"""
