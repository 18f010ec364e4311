{#- The end of a message about a name that nobody knows; empty where none of `names` is near. -#}
{% macro _did_you_mean(name, names) %}
  {%- set nearest = alluvium._nearest_name(name, names) -%}
  {{ return('; did you mean ' ~ nearest ~ '?' if nearest else '') }}
{% endmacro %}


{#- The one of `names` that a name was probably meant to be; none where none is near. As `alluvium.names.nearest` does. -#}
{% macro _nearest_name(name, names) %}
  {%- set ns = namespace(name=none, edits=3) -%}
  {%- set given = name | string | lower -%}
  {%- for one in names if (one | length - given | length) | abs < 3 and given | length > 2 -%}
    {%- set edits = alluvium._count_edits(given, one | lower) -%}
    {%- if edits < ns.edits and edits * 3 <= one | length -%}
      {%- set ns.name = one -%}
      {%- set ns.edits = edits -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(ns.name) }}
{% endmacro %}


{#- Letters to add, drop, change or swap with a neighbour until one text is the other. -#}
{% macro _count_edits(one, other) %}
  {%- set rows = [range(other | length + 1) | list] -%}
  {%- for i in range(one | length) -%}
    {%- set row = [i + 1] -%}
    {%- for j in range(other | length) -%}
      {%- set edits = [rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (0 if one[i] == other[j] else 1)] -%}
      {%- if i and j and one[i] == other[j - 1] and one[i - 1] == other[j] -%}{%- do edits.append(rows[i - 1][j - 1] + 1) -%}{%- endif -%}
      {%- do row.append(edits | min) -%}
    {%- endfor -%}
    {%- do rows.append(row) -%}
  {%- endfor -%}
  {{ return(rows[-1][-1]) }}
{% endmacro %}
