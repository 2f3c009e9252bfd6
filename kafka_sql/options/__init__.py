"""WITH options: what an option is, the connector's own, and how a statement's map is checked against them.

A format's options stand in the format's own file; every page of documentation and every check is made from these.
"""

from kafka_sql.options.option import Option, Options, boolean, duration, enum, integer, string, string_list

__all__ = ["Option", "Options", "boolean", "duration", "enum", "integer", "string", "string_list"]
