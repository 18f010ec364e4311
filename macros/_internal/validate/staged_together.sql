{#- A model that merges what several models read of bronze has one number for its progress. So all of them have to end with
    one batch: events of a later one would be passed over. Those of one command do. `dbt retry` may go on with the model
    alone: had one of the others failed, it would be in the retry too. -#}
{% macro _validate_staged_together(node, mistakes) %}
  {%- if node.unique_id not in selected_resources or alluvium._is_rebuilt(node) or not alluvium._builds() -%}{{ return(none) }}{%- endif -%}
  {%- set readers = alluvium._event_readers(node) -%}
  {%- set staged = alluvium._kept_apart(node, readers) if readers | length > 1 else [] -%}
  {%- set left = staged | rejectattr('unique_id', 'in', selected_resources) | list -%}
  {%- if left and not (alluvium._is_retry() and left | length == readers | length) -%}
    {%- set selectors = [] -%}
    {%- for one in staged + [node] -%}{%- do selectors.append(alluvium._selector_of(one)) -%}{%- endfor -%}
    {%- do mistakes.append(alluvium._name_of(node) ~ ': ' ~ readers | length ~ ' models read the events that are new to it, and have to end with one batch, but '
        ~ left | map(attribute='name') | join(' and ') ~ (' is' if left | length == 1 else ' are') ~ ' not selected; select them together: --select ' ~ selectors | join(' ')) -%}
  {%- endif -%}
{% endmacro %}
