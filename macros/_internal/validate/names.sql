{#- Keys that nobody reads: those that begin as ours do are mistakes, those that are near to one of ours may be. -#}
{% macro _validate_meta_names(node, meta, accepted, mistakes) %}
  {%- for key in meta if key not in accepted -%}
    {%- if key is string and key[:9] == 'alluvium_' -%}
      {%- do mistakes.append(node.name ~ ': meta.' ~ key ~ ' is not known on a ' ~ node.resource_type
          ~ '; accepted: ' ~ accepted | sort | join(', ') ~ alluvium._did_you_mean(key, accepted)) -%}
    {%- else -%}
      {%- do alluvium._warn_of_near_miss(node.name ~ ': meta.' ~ key, key, accepted) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- for key in node.config if key in accepted -%}
    {%- do mistakes.append(node.name ~ ': ' ~ key ~ ' does not stand in meta, where it is looked for; accepted: meta: {' ~ key ~ ': …}') -%}
  {%- endfor -%}
{% endmacro %}


{% macro _warn_of_near_miss(where, name, names) %}
  {%- set nearest = alluvium._nearest_name(name, names) -%}
  {%- if nearest -%}
    {%- do exceptions.warn(where ~ ' is not a setting of alluvium and changes nothing; did you mean ' ~ nearest ~ '?') -%}
  {%- endif -%}
{% endmacro %}
