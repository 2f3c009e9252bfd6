"""The csv format: Flink's, a whole buffer at a time.

Reading is decoder.py (the fast way in kernels.py and columns.py, the exact way in record.py); writing is encoder.py.
"""

from kafka_sql.formats.csv.decoder import CsvDecoder
from kafka_sql.formats.csv.encoder import CsvEncoder
from kafka_sql.formats.csv.options import CSV_OPTIONS
from kafka_sql.formats.format import Format

CSV = Format("csv", CSV_OPTIONS, CsvDecoder, CsvEncoder)

__all__ = ["CSV"]
