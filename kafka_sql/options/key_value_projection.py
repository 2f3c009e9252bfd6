"""Select the columns of a record's key and of its value.

Follows Flink's createKeyFormatProjection and createValueFormatProjection, including their error messages.
Each function raises an OptionError if the options that select its columns do not fit each other or the table.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, MissingOptionError
from kafka_sql.options import connector as opt
from kafka_sql.options.option import Options
from kafka_sql.suggestions import did_you_mean


def project_key(options: Options, physical: Sequence[str]) -> tuple[str, ...]:
    """Return the key's columns in the order of 'key.fields'; empty for a table without a key."""
    fields = options.get(opt.KEY_FIELDS)
    if not options.is_set(opt.KEY_FORMAT):
        if fields is not None:
            raise MissingOptionError(
                f"The option '{opt.KEY_FIELDS.key}' can only be declared if a key format is defined using "
                f"'{opt.KEY_FORMAT.key}'.",
                option=opt.KEY_FIELDS.key,
            )
        return ()
    if not fields:
        raise MissingOptionError(
            f"A key format '{opt.KEY_FORMAT.key}' requires the declaration of one or more of key fields using "
            f"'{opt.KEY_FIELDS.key}'.",
            option=opt.KEY_FORMAT.key,
        )
    return check_key_fields(options, fields, physical)


def check_key_fields(options: Options, fields: Sequence[str], physical: Sequence[str]) -> tuple[str, ...]:
    """Check that each field is a physical column whose name starts with 'key.fields-prefix', and return the fields.

    Raises:
        InvalidOptionError: a field is not such a column.
    """
    prefix = options.get(opt.KEY_FIELDS_PREFIX) or ""
    for field in fields:
        if field not in physical:
            raise InvalidOptionError(
                f"Could not find the field '{field}' in the table schema for usage in the key format. A key field "
                "must be a regular, physical column. The following columns can be selected in the "
                f"'{opt.KEY_FIELDS.key}' option: [{', '.join(physical)}].{did_you_mean(field, physical)}",
                option=opt.KEY_FIELDS.key,
            )
        if not field.startswith(prefix):
            raise InvalidOptionError(
                f"All fields in '{opt.KEY_FIELDS.key}' must be prefixed with '{prefix}' when option "
                f"'{opt.KEY_FIELDS_PREFIX.key}' is set but field '{field}' is not prefixed.",
                option=opt.KEY_FIELDS.key,
            )
    return tuple(fields)


def project_value(options: Options, physical: Sequence[str], key: Sequence[str]) -> tuple[str, ...]:
    """Return the value's columns, in the table's order.

    Raises:
        ConflictingOptionsError: 'key.fields-prefix' is set, but the value includes the key's columns.
    """
    if options[opt.VALUE_FIELDS_INCLUDE] == opt.EXCEPT_KEY:
        return tuple(name for name in physical if name not in key)
    if options.get(opt.KEY_FIELDS_PREFIX):
        raise ConflictingOptionsError(
            f"A key prefix is not allowed when option '{opt.VALUE_FIELDS_INCLUDE.key}' is set to '{opt.ALL}'. Set it "
            f"to '{opt.EXCEPT_KEY}' instead to avoid field overlaps.",
            option=opt.VALUE_FIELDS_INCLUDE.key,
        )
    return tuple(physical)
