{#- Keep events that cannot be merged in the table `<merged table>__rejected`, each content once.
    columns: quoted names of those to keep; reason: SQL over the events that says why.

    This runs before the merge and finds what a killed run had kept, so nothing is lost or doubled. -#}
{% macro _keep_rejected_sql(rejected, events, columns, reason="'null_key'") %}
merge into {{ rejected }} as `kept`
using (
    select distinct
        reason,
        event,
        sha2(event, 256) as event_hash
    from (
        select
            {{ reason }} as reason,
            {{ alluvium._row_json(columns | join(', ')) | indent(12) }} as event
        from {{ events }}
    )
) as `found`
on `kept`.event_hash = `found`.event_hash
when not matched then insert (reason, event, event_hash, rejected_at)
values (`found`.reason, `found`.event, `found`.event_hash, current_timestamp())
{%- endmacro %}


{#- The table that keeps the rejected events of a merged table. -#}
{% macro _rejected_relation(target) %}
  {{ return(target.incorporate(path={'identifier': target.identifier ~ '__rejected'})) }}
{% endmacro %}


{% macro _create_rejected_sql(rejected_table) %}
  {{ return('create table if not exists ' ~ rejected_table ~ ' (reason string, event string, event_hash string, rejected_at timestamp) using delta') }}
{% endmacro %}
