"""librdkafka's C functions, from the library that confluent-kafka has loaded.

Looking symbols up through confluent-kafka's extension module follows its dependency, so it is the same librdkafka on
every platform's wheel. Names, layouts and meanings: librdkafka's rdkafka.h.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_ssize_t, c_void_p
from typing import Any

import confluent_kafka.cimpl
import numpy as np

_LIBRARY = ctypes.CDLL(confluent_kafka.cimpl.__file__)

PRODUCER, CONSUMER = 0, 1
CONF_UNKNOWN, CONF_OK = -2, 0

# rd_kafka_resp_err_t
AUTHENTICATION = -169
SSL = -181
TIMED_OUT = -185
QUEUE_FULL = -184
FATAL = -150
PARTITION_EOF = -191
TOPIC_AUTHORIZATION_FAILED = 29
GROUP_AUTHORIZATION_FAILED = 30
AUTO_OFFSET_RESET = -140
OFFSET_OUT_OF_RANGE = 1
NO_HEADERS = -156

ERROR_CALLBACK = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_void_p)
STATISTICS_CALLBACK = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p, c_size_t, c_void_p)
LOG_CALLBACK = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p)


class Message(ctypes.Structure):
    """``rd_kafka_message_t``."""

    _fields_ = (
        ("err", c_int),
        ("topic_handle", c_void_p),
        ("partition", c_int32),
        ("payload", c_void_p),
        ("length", c_size_t),
        ("key", c_void_p),
        ("key_length", c_size_t),
        ("offset", c_int64),
        ("private", c_void_p),
    )


# the same structure as a NumPy type, for produce_batch
MESSAGE = np.dtype(
    {
        "names": ["err", "topic", "partition", "payload", "length", "key", "key_length", "offset", "private"],
        "formats": ["i4", "i8", "i4", "i8", "i8", "i8", "i8", "i8", "i8"],
    },
    align=True,
)


class _TopicMetadata(ctypes.Structure):
    """``rd_kafka_metadata_topic_t``."""

    _fields_ = (("topic", c_char_p), ("partition_count", c_int), ("partitions", c_void_p), ("err", c_int))


class Metadata(ctypes.Structure):
    """The first fields of ``rd_kafka_metadata_t``."""

    _fields_ = (
        ("broker_count", c_int),
        ("brokers", c_void_p),
        ("topic_count", c_int),
        ("topics", POINTER(_TopicMetadata)),
    )


# rd_kafka_vu_t, the arguments of produceva: a tag and a union, of which two words are used here
UNIT = np.dtype(
    {"names": ["tag", "first", "second"], "formats": ["i4", "i8", "i8"], "offsets": [0, 8, 16], "itemsize": 72}
)
TOPIC_HANDLE, PARTITION, VALUE, KEY, FLAGS, TIMESTAMP, HEADERS = 2, 3, 4, 5, 7, 8, 10
UNITS = (TOPIC_HANDLE, PARTITION, FLAGS, VALUE, KEY, TIMESTAMP, HEADERS)
ANY_PARTITION, COPY, OWN_PARTITIONS = -1, 2, 8

DELIVERY_CALLBACK = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Message), c_void_p)


def _function(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(_LIBRARY, name)
    function.restype, function.argtypes = result, arguments
    return function


def address(function: Any) -> int:
    """Return a C function's address, for compiled kernels."""
    value = ctypes.cast(function, c_void_p).value
    assert value is not None
    return value


conf_new = _function("rd_kafka_conf_new", c_void_p)
conf_set = _function("rd_kafka_conf_set", c_int, c_void_p, c_char_p, c_char_p, c_char_p, c_size_t)
conf_get = _function("rd_kafka_conf_get", c_int, c_void_p, c_char_p, c_char_p, c_void_p)
conf_destroy = _function("rd_kafka_conf_destroy", None, c_void_p)
conf_set_error_cb = _function("rd_kafka_conf_set_error_cb", None, c_void_p, ERROR_CALLBACK)
conf_set_stats_cb = _function("rd_kafka_conf_set_stats_cb", None, c_void_p, STATISTICS_CALLBACK)
conf_set_log_cb = _function("rd_kafka_conf_set_log_cb", None, c_void_p, LOG_CALLBACK)
conf_set_dr_msg_cb = _function("rd_kafka_conf_set_dr_msg_cb", None, c_void_p, DELIVERY_CALLBACK)
new = _function("rd_kafka_new", c_void_p, c_int, c_void_p, c_char_p, c_size_t)
destroy = _function("rd_kafka_destroy", None, c_void_p)
err2str = _function("rd_kafka_err2str", c_char_p, c_int)
poll = _function("rd_kafka_poll", c_int, c_void_p, c_int)
set_log_queue = _function("rd_kafka_set_log_queue", c_int, c_void_p, c_void_p)

partitions_new = _function("rd_kafka_topic_partition_list_new", c_void_p, c_int)
partitions_add = _function("rd_kafka_topic_partition_list_add", c_void_p, c_void_p, c_char_p, c_int32)
partitions_set_offset = _function(
    "rd_kafka_topic_partition_list_set_offset", c_int, c_void_p, c_char_p, c_int32, c_int64
)
partitions_destroy = _function("rd_kafka_topic_partition_list_destroy", None, c_void_p)
assign = _function("rd_kafka_assign", c_int, c_void_p, c_void_p)
poll_set_consumer = _function("rd_kafka_poll_set_consumer", c_int, c_void_p)
consumer_queue = _function("rd_kafka_queue_get_consumer", c_void_p, c_void_p)
query_watermarks = _function(
    "rd_kafka_query_watermark_offsets", c_int, c_void_p, c_char_p, c_int32, POINTER(c_int64), POINTER(c_int64), c_int
)
queue_destroy = _function("rd_kafka_queue_destroy", None, c_void_p)
consume_batch = _function("rd_kafka_consume_batch_queue", c_ssize_t, c_void_p, c_int, c_void_p, c_size_t)
consumer_close = _function("rd_kafka_consumer_close", c_int, c_void_p)
message_destroy = _function("rd_kafka_message_destroy", None, c_void_p)
message_timestamp = _function("rd_kafka_message_timestamp", c_int64, c_void_p, c_void_p)
message_leader_epoch = _function("rd_kafka_message_leader_epoch", c_int32, c_void_p)
message_headers = _function("rd_kafka_message_headers", c_int, c_void_p, c_void_p)
message_error = _function("rd_kafka_message_errstr", c_char_p, c_void_p)

header_get_all = _function("rd_kafka_header_get_all", c_int, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p)
header_count = _function("rd_kafka_header_cnt", c_size_t, c_void_p)
headers_new = _function("rd_kafka_headers_new", c_void_p, c_size_t)
headers_destroy = _function("rd_kafka_headers_destroy", None, c_void_p)
header_add = _function("rd_kafka_header_add", c_int, c_void_p, c_void_p, c_ssize_t, c_void_p, c_ssize_t)

topic_new = _function("rd_kafka_topic_new", c_void_p, c_void_p, c_char_p, c_void_p)
topic_name = _function("rd_kafka_topic_name", c_char_p, c_void_p)
topic_destroy = _function("rd_kafka_topic_destroy", None, c_void_p)
produce_batch = _function("rd_kafka_produce_batch", c_int, c_void_p, c_int32, c_int, c_void_p, c_int)
fatal_error = _function("rd_kafka_fatal_error", c_int, c_void_p, c_char_p, c_size_t)
queue_length = _function("rd_kafka_outq_len", c_int, c_void_p)
produceva = _function("rd_kafka_produceva", c_void_p, c_void_p, c_void_p, c_size_t)
error_code = _function("rd_kafka_error_code", c_int, c_void_p)
error_destroy = _function("rd_kafka_error_destroy", None, c_void_p)
error_string = _function("rd_kafka_error_string", c_char_p, c_void_p)
flush = _function("rd_kafka_flush", c_int, c_void_p, c_int)
purge = _function("rd_kafka_purge", c_int, c_void_p, c_int)

init_transactions = _function("rd_kafka_init_transactions", c_void_p, c_void_p, c_int)
begin_transaction = _function("rd_kafka_begin_transaction", c_void_p, c_void_p)
abort_transaction = _function("rd_kafka_abort_transaction", c_void_p, c_void_p, c_int)
cluster_metadata = _function("rd_kafka_metadata", c_int, c_void_p, c_int, c_void_p, POINTER(c_void_p), c_int)
cluster_metadata_destroy = _function("rd_kafka_metadata_destroy", None, c_void_p)


def reason(code: int) -> str:
    """Return librdkafka's message for an error code."""
    text: bytes = err2str(code)
    return text.decode()
