{{ config(materialized='kafka_topic') }}

SELECT country, revenue FROM {{ ref('revenue') }}
