{#- from {{ alluvium.prune(ref('edits'), {'service': 'reader', 'status': ['error', 'warn']}) }} as edits

    The rows of a relation for which a condition is true, as a subquery: with `join`, those that have a partner there. Files without such rows
    are not read where the target's sessions skip by automata; the rows are the same anywhere. -#}
{% macro prune(relation, where=none, join=none, columns=none) -%}
  {%- do alluvium._check_arguments('prune', {}, kwargs, kind='macro') -%}
  {%- if where is none and join is none -%}
    {%- do exceptions.raise_compiler_error('alluvium.prune: neither where nor join is given; accepted: one of them, or both') -%}
  {%- endif -%}
  {%- set conditions = alluvium._conditions(where, 'alluvium.prune') -%}
  {%- set shared = alluvium._shared_columns(relation, join, columns) if join is not none and execute else [] -%}
  {%- if shared and alluvium._runs_as_compiled() -%}
    {%- do conditions.extend(adapter.values_of(relation, join, shared)) -%}
  {%- endif -%}
  {%- set rows = '(select * from ' ~ relation ~ (' where ' ~ conditions | join(' and ') if conditions else '') ~ ')' -%}
  {%- if not shared -%}
    {{- rows -}}
  {%- else -%}
    {#- Not USING, which puts these columns first. -#}
    {%- set equal = [] -%}
    {%- for name in shared -%}
      {%- set quoted = alluvium._quote_name(name) -%}
      {%- do equal.append('pruned.' ~ quoted ~ ' = partners.' ~ quoted) -%}
    {%- endfor -%}
    (select * from {{ rows }} as pruned left semi join {{ join }} as partners on {{ equal | join(' and ') }})
  {%- endif -%}
{%- endmacro %}
