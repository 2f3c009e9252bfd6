"""Enable Flink's statements in dbt's Spark session: dbt imports every installed module named dbt_*.

The folder is also a dbt package with macros and a materialization.
"""

import kafka_sql

kafka_sql.install()
