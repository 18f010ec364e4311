select
    count(*) as missed,
    min(to_json(struct(DBT_INTERNAL_DEST.`id`, DBT_INTERNAL_DEST.`b`))) as example
from s.items as DBT_INTERNAL_DEST
left semi join src as DBT_INTERNAL_SOURCE
    on DBT_INTERNAL_SOURCE.`id` = DBT_INTERNAL_DEST.`id` and DBT_INTERNAL_SOURCE.`b` = DBT_INTERNAL_DEST.`b`
where not coalesce((DBT_INTERNAL_DEST.`at` = 1), false)
