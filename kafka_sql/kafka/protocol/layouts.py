"""Define the layouts of Kafka's requests and responses in the versions that this package supports.

Source: Apache Kafka's message definitions (clients/src/main/resources/common/message), with its names of fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kafka_sql.kafka.protocol.codec import ApiKey

# A field is ``name:type``. An array is ``name:[type]``, or ``name:[`` and the fields of its structs until ``]``. Only
# versions from 7 on have a field that ends with ``/7``; only 8 to 10, with ``/8-10``. ``=`` precedes the value in a
# request that sets none.
_LAYOUTS: Final = """
PRODUCE:[/3-11  # 12 adds partitions to transactions implicitly (KIP-890); this package sends AddPartitionsToTxn
    request:[ ]  # ``produce`` encodes it, without copying record batches
    response:[
        responses:[ name:string partition_responses:[
            index:int32 error_code:int16 base_offset:int64 log_append_time_ms:int64 log_start_offset:int64/5
            record_errors:[/8 batch_index:int32 batch_index_error_message:nullable_string ]
            error_message:nullable_string/8 ] ]
        throttle_time_ms:int32 ] ]
FETCH:[/4-12  # older versions do not report aborted transactions; newer ones name topics by their ids
    request:[
        replica_id:int32=-1 max_wait_ms:int32 min_bytes:int32 max_bytes:int32 isolation_level:int8
        session_id:int32/7=0 session_epoch:int32/7=-1
        topics:[ topic:string partitions:[
            partition:int32 current_leader_epoch:int32/9=-1 fetch_offset:int64 last_fetched_epoch:int32/12=-1
            log_start_offset:int64/5=-1 partition_max_bytes:int32 ] ]
        forgotten_topics_data:[int32]/7 rack_id:string/11 ]
    response:[
        throttle_time_ms:int32 error_code:int16/7 session_id:int32/7
        responses:[ topic:string partitions:[
            partition_index:int32 error_code:int16 high_watermark:int64 last_stable_offset:int64
            log_start_offset:int64/5 aborted_transactions:[ producer_id:int64 first_offset:int64 ]
            preferred_read_replica:int32/11 records:bytes ] ] ] ]
LIST_OFFSETS:[/2-6  # all brokers with transactions support 2
    request:[
        replica_id:int32=-1 isolation_level:int8
        topics:[ name:string partitions:[
            partition_index:int32 current_leader_epoch:int32/4=-1 timestamp:int64 ] ] ]
    response:[
        throttle_time_ms:int32
        topics:[ name:string partitions:[
            partition_index:int32 error_code:int16 timestamp:int64 offset:int64 leader_epoch:int32/4 ] ] ] ]
METADATA:[/4-12  # older versions may create missing topics
    request:[
        topics:[ topic_id:uuid/10 name:string ] allow_auto_topic_creation:bool=0
        include_cluster_authorized_operations:bool/8-10=0 include_topic_authorized_operations:bool/8=0 ]
    response:[
        throttle_time_ms:int32
        brokers:[ node_id:int32 host:string port:int32 rack:nullable_string ]
        cluster_id:nullable_string controller_id:int32
        topics:[
            error_code:int16 name:string topic_id:uuid/10 is_internal:bool
            partitions:[
                error_code:int16 partition_index:int32 leader_id:int32 leader_epoch:int32/7
                replica_nodes:[int32] isr_nodes:[int32] offline_replicas:[int32]/5 ]
            topic_authorized_operations:int32/8 ]
        cluster_authorized_operations:int32/8-10 ] ]
OFFSET_COMMIT:[/2-8
    request:[
        group_id:string generation_id:int32=-1 member_id:string group_instance_id:nullable_string/7
        retention_time_ms:int64/2-4=-1
        topics:[ name:string partitions:[
            partition_index:int32 committed_offset:int64 committed_leader_epoch:int32/6=-1
            committed_metadata:nullable_string ] ] ]
    response:[
        throttle_time_ms:int32/3
        topics:[ name:string partitions:[ partition_index:int32 error_code:int16 ] ] ] ]
OFFSET_FETCH:[/2-7
    request:[ group_id:string topics:[ name:string partition_indexes:[int32] ] require_stable:bool/7=0 ]
    response:[
        throttle_time_ms:int32/3
        topics:[ name:string partitions:[
            partition_index:int32 committed_offset:int64 committed_leader_epoch:int32/5
            metadata:nullable_string error_code:int16 ] ]
        error_code:int16 ] ]
FIND_COORDINATOR:[/1-4  # 4 finds several coordinators with one request (KIP-699)
    request:[ key:string/0-3 key_type:int8 coordinator_keys:[string]/4 ]
    response:[
        throttle_time_ms:int32
        error_code:int16/0-3 error_message:nullable_string/0-3 node_id:int32/0-3 host:string/0-3 port:int32/0-3
        coordinators:[/4
            key:string node_id:int32 host:string port:int32 error_code:int16 error_message:nullable_string ] ] ]
DESCRIBE_GROUPS:[/3-5
    request:[ groups:[string] include_authorized_operations:bool ]
    response:[
        throttle_time_ms:int32
        groups:[
            error_code:int16 group_id:string group_state:string protocol_type:string protocol_data:string
            members:[
                member_id:string group_instance_id:nullable_string/4 client_id:string client_host:string
                member_metadata:bytes member_assignment:bytes ]
            authorized_operations:int32 ] ] ]
SASL_HANDSHAKE:[/1-1
    request:[ mechanism:string ]
    response:[ error_code:int16 mechanisms:[string] ] ]
API_VERSIONS:[/0-3
    request:[ client_software_name:string/3 client_software_version:string/3 ]
    response:[ ] ]  # ``Connection`` reads it: its version may be older than that of the request
INIT_PRODUCER_ID:[/0-4  # from 3 on, a producer is identified by its epoch (KIP-360)
    request:[
        transactional_id:nullable_string transaction_timeout_ms:int32
        producer_id:int64/3=-1 producer_epoch:int16/3=-1 ]
    response:[ throttle_time_ms:int32 error_code:int16 producer_id:int64 producer_epoch:int16 ] ]
ADD_PARTITIONS_TO_TXN:[/0-3  # later versions are for brokers only
    request:[
        transactional_id:string producer_id:int64 producer_epoch:int16 topics:[ name:string partitions:[int32] ] ]
    response:[
        throttle_time_ms:int32
        results:[ name:string results_by_partition:[ partition_index:int32 partition_error_code:int16 ] ] ] ]
END_TXN:[/0-4
    # Brokers without the feature transaction.version = 2 offer 5, but reject it and leave the transactional id unusable
    # until the coordinator restarts. 4 works everywhere and does not change the epoch.
    request:[ transactional_id:string producer_id:int64 producer_epoch:int16 committed:bool ]
    response:[ throttle_time_ms:int32 error_code:int16 ] ]
SASL_AUTHENTICATE:[/0-2
    request:[ auth_bytes:bytes ]
    response:[
        error_code:int16 error_message:nullable_string auth_bytes:bytes session_lifetime_ms:int64/1 ] ]
DESCRIBE_PRODUCERS:[/0-0  # KIP-664, as the following ones
    request:[ topics:[ name:string partition_indexes:[int32] ] ]
    response:[
        throttle_time_ms:int32
        topics:[ name:string partitions:[
            partition_index:int32 error_code:int16 error_message:nullable_string
            active_producers:[
                producer_id:int64 producer_epoch:int32 last_sequence:int32 last_timestamp:int64
                coordinator_epoch:int32 current_txn_start_offset:int64 ] ] ] ] ]
DESCRIBE_TRANSACTIONS:[/0-0
    request:[ transactional_ids:[string] ]
    response:[
        throttle_time_ms:int32
        transaction_states:[
            error_code:int16 transactional_id:string transaction_state:string transaction_timeout_ms:int32
            transaction_start_time_ms:int64 producer_id:int64 producer_epoch:int16
            topics:[ topic:string partitions:[int32] ] ] ] ]
LIST_TRANSACTIONS:[/0-1
    request:[ state_filters:[string] producer_id_filters:[int64] duration_filter:int64/1=-1 ]  # KIP-994
    response:[
        throttle_time_ms:int32 error_code:int16 unknown_state_filters:[string]
        transaction_states:[ transactional_id:string producer_id:int64 transaction_state:string ] ] ]
"""
_FIELD: Final = re.compile(
    r"(?P<name>\w+):(?P<array>\[?)(?P<type>\w*)\]?(?:/(?P<since>\d+)(?:-(?P<until>\d+))?)?(?:=(?P<default>-?\d+))?"
)
_ALWAYS: Final = 1 << 15


class Field(NamedTuple):
    """A field of a struct.

    Attributes:
        type: of the value, or of an array's items; empty for a struct.
        fields: of an array's structs.
        since, until: the first and the last version that has the field.
        default: the value in a request that sets none.
    """

    name: str
    type: str
    fields: tuple[Field, ...]
    is_array: bool
    since: int
    until: int
    default: int | None


def _parse_struct(words: Iterator[str]) -> tuple[Field, ...]:
    fields = list[Field]()
    for word in words:
        if word == "]":
            break
        match = _FIELD.fullmatch(word)
        assert match is not None, word
        since, until = int(match["since"] or 0), int(match["until"] or _ALWAYS)
        default = None if match["default"] is None else int(match["default"])
        items = () if match["type"] else _parse_struct(words)
        fields.append(Field(match["name"], match["type"], items, bool(match["array"]), since, until, default))
    return tuple(fields)


class Api(NamedTuple):
    """The fields of an API's messages, and the versions that this package supports."""

    request: tuple[Field, ...]
    response: tuple[Field, ...]
    oldest: int
    latest: int


def _parse_api(api: Field) -> Api:
    request, response = api.fields
    return Api(request.fields, response.fields, api.since, api.until)


APIS: Final[Mapping[ApiKey, Api]] = {
    ApiKey[api.name]: _parse_api(api) for api in _parse_struct(iter(re.sub("#.*", "", _LAYOUTS).split()))
}
