{{ config(materialized='streaming_table') }}
select * from {{ source('landing', 'runways') }}
