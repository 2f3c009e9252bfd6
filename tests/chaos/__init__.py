"""Run the fault scenarios, one file each in scenarios/: ``python -m tests.chaos --help``.

Modules: registry (the list of scenarios), clusters (brokers and their faults), pipeline (the query), run (a pipeline
with data generator and readers), expected_rows, batch_codecs, client_record and outcome (evaluation), quotas, soak and
resources (resource use over time).
"""
