insert into `b`.`events` by name
select /*+ rebalance */
    *,
    7L as `_batch_id`
from (
    select * from v
) as `events`
where not exists (
    select 1
    from `b`.`events` as `known`
    where `known`.`_source_partition` = `events`.`_source_partition`
)
