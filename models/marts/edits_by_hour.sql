select
    date_trunc('hour', edited_at) as edited_hour,
    channel,
    count(*) as edits,
    count_if(is_robot) as robot_edits,
    count(distinct user_name) as users,
    sum(added) as characters_added,
    sum(deleted) as characters_deleted
from {{ ref('edits') }}
group by date_trunc('hour', edited_at), channel
