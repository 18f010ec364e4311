select to_json(collect_list(struct(*))) as `lacked`
from (
    select
        lower(`__alluvium_name`) as `name`,
        min(`__alluvium_name`) as `example`,
        lower(`__alluvium_name`) in ('id', 'at', 'lacked') as `is_known`,
        bool_or(
            (lower(`__alluvium_name`) = 'at' and `At` is not null) or
            false
        ) as `has_value`
    from src lateral view explode(`Lacked`) `__alluvium_names` as `__alluvium_name`
    where `__alluvium_name` is not null
    group by lower(`__alluvium_name`)
    order by `is_known` desc, `name`
    limit 13
)
