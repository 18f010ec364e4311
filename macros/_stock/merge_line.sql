{#- The one line that says what a merge did on a stock target, which looks at no files and no streaming table. -#}
{% macro _merge_line(name, figures) %}
  {%- set took = ' in %.1f s' | format(figures.seconds) -%}
  {%- set n = alluvium._thousands -%}
  {%- set newest = ', newest event ' ~ figures.newest_event[:19] ~ ' UTC' if figures.get('newest_event') else '' -%}
  {%- set rejected = ', ' ~ n(figures.rejected) ~ ' rejected (kept in ' ~ figures.rejected_table ~ ')' if figures.rejected else '' -%}
  {%- if not figures.is_pending -%}
    {{ return(name ~ ': nothing new' ~ rejected ~ took ~ newest) }}
  {%- endif -%}
  {%- set parts = [alluvium._counted(figures.events, 'event')] -%}
  {%- if figures.method != 'none' -%}
    {%- do parts.append(alluvium._counted(figures.ranges, 'range') ~ ' (' ~ figures.method ~ ')') -%}
  {%- endif -%}
  {%- set unchanged = [figures.key_count - figures.affected, 0] | max -%}
  {%- if figures.on_match == 'ignore' -%}
    {%- set outcome = alluvium._counted(figures.affected, 'insert') ~ ', ' ~ n(unchanged) ~ ' known' -%}
  {%- elif not figures.affected -%}
    {%- set outcome = 'nothing changed (' ~ alluvium._counted(figures.events, 'older event') ~ ')' if figures.events else 'nothing changed' -%}
  {%- else -%}
    {%- set outcome = alluvium._counted(figures.key_count - figures.deletes, 'upsert')
        ~ (', ' ~ alluvium._counted(figures.deletes, 'delete') if figures.deletes else '')
        ~ (', ' ~ n(unchanged) ~ ' of them without effect' if unchanged else '') -%}
  {%- endif -%}
  {%- do parts.append(outcome ~ rejected ~ took ~ newest) -%}
  {{ return(name ~ ': ' ~ parts | join(' → ')) }}
{% endmacro %}
