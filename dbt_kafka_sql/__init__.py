"""What dbt imports by its name, as it does every module dbt_*, so that its Spark session takes Flink's statements. The
folder is a dbt package, too: macros and a materialization.
"""

import kafka_sql

kafka_sql.install()
