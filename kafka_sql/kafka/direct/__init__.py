"""Writing and reading without librdkafka, which makes a message of each row: rows become record batches here, and
batches rows, over connections of this package's own. What librdkafka alone can do (headers, a record's own time, to
compress, followers of a rack, patience with brokers that are away) still goes through it.
"""
