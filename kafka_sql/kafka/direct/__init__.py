"""Writing without librdkafka: rows become record batches here, and go to the brokers over connections of this package's
own. A third of the CPU time of a row written is librdkafka's, which makes a message of each; what it alone can do
(compression, headers, times of a row's own) still goes through it.
"""
