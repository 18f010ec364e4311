{#- The one line that says what a merge did. -#}
{% macro merge_line(name, figures) %}
  {%- set took = ' in %.1f s' | format(figures.seconds) -%}
  {%- set n = alluvium.thousands -%}
  {%- set newest = figures.get('freshness') or ('newest event ' ~ figures.newest_event[:19] ~ ' UTC' if figures.get('newest_event') else '') -%}
  {%- set newest = ', ' ~ newest if newest else '' -%}
  {%- set rejected = ', ' ~ n(figures.rejected) ~ ' rejected (kept in ' ~ figures.rejected_table ~ ')' if figures.rejected else '' -%}
  {%- if not figures.affected and not figures.get('files_total') and figures.sql == '-- nothing new' -%}
    {#- Its batch was empty. Only where bronze was looked at it is known to wait for nothing. -#}
    {%- set state = 'up to date' if figures.get('waiting_batches') == 0 else 'nothing new' -%}
    {{ return(name ~ ': ' ~ state ~ rejected ~ took ~ newest) }}
  {%- endif -%}
  {%- set parts = [alluvium.counted(figures.events, 'event')] -%}
  {%- if figures.method != 'none' -%}
    {%- do parts.append(alluvium.counted(figures.ranges, 'range') ~ ' (' ~ figures.method ~ ')') -%}
  {%- endif -%}
  {%- if figures.get('files_total') -%}
    {%- do parts.append(n(figures.files_kept) ~ ' of ' ~ n(figures.files_total) ~ ' files ('
        ~ '%.1f' | format(100 * figures.files_kept / figures.files_total) ~ ' %)') -%}
  {%- endif -%}
  {%- set unchanged = [figures.key_count - figures.affected, 0] | max -%}
  {%- if figures.on_match == 'ignore' -%}
    {%- set outcome = alluvium.counted(figures.affected, 'insert') ~ ', ' ~ n(unchanged) ~ ' known' -%}
  {%- elif not figures.affected -%}
    {%- set outcome = 'nothing changed (' ~ alluvium.counted(figures.events, 'older event') ~ ')' if figures.events else 'nothing changed' -%}
  {%- else -%}
    {%- set outcome = alluvium.counted(figures.key_count - figures.deletes, 'upsert')
        ~ (', ' ~ alluvium.counted(figures.deletes, 'delete') if figures.deletes else '')
        ~ (', ' ~ n(unchanged) ~ ' of them without effect' if unchanged else '') -%}
  {%- endif -%}
  {%- set conflicts = ', after ' ~ alluvium.counted(figures.conflicts, 'conflict') if figures.get('conflicts') else '' -%}
  {%- if figures.get('already_merged') -%}{%- set outcome = 'already merged' -%}{%- endif -%}
  {%- do parts.append(outcome ~ rejected ~ took ~ conflicts ~ newest) -%}
  {{ return(name ~ ': ' ~ parts | join(' → ')) }}
{% endmacro %}


{% macro thousands(number) %}
  {{ return('{:,}'.format(number)) }}
{% endmacro %}


{% macro counted(number, noun) %}
  {{ return(alluvium.thousands(number) ~ ' ' ~ noun ~ ('' if number == 1 else 's')) }}
{% endmacro %}
