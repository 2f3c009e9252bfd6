"""Define and validate WITH options: option types, the connector's options, and the constraints between them.

A format's options are defined in the format's package. The documentation is generated from the definitions.
"""

from kafka_sql.options.option import Option, Options, boolean, duration, enum, integer, string, string_list

__all__ = ["Option", "Options", "boolean", "duration", "enum", "integer", "string", "string_list"]
