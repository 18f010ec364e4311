{#- The enabled model that a text names, as `_models_named` reads it; raises where that is none or one of several.
    who: for the message, what was given the text. -#}
{% macro _find_model(name, who, caller=none) %}
  {%- set found = alluvium._models_named(name, caller) -%}
  {%- set mistake = alluvium._naming_mistake(name, found) -%}
  {%- if mistake -%}{%- do exceptions.raise_compiler_error(who ~ ': ' ~ mistake) -%}{%- endif -%}
  {{ return(found[0]) }}
{% endmacro %}


{#- The same of a published model. -#}
{% macro _find_published(name, who) %}
  {%- set node = alluvium._find_model(name, who) -%}
  {%- if node.config.materialized != 'published' -%}
    {%- set shown = [] -%}
    {%- for one in alluvium._shown_by(node.unique_id) -%}{%- do shown.append(alluvium._name_of(one)) -%}{%- endfor -%}
    {%- do exceptions.raise_compiler_error(who ~ ": '" ~ name ~ "' is materialized as " ~ node.config.materialized
        ~ '; accepted: a published model' ~ (', as ' ~ shown | sort | join(' and ') ~ ', of which it is the candidate' if shown else '')) -%}
  {%- endif -%}
  {{ return(node) }}
{% endmacro %}


{#- Of a published model, behind what it is not: whose rows it shows; of another nothing. -#}
{% macro _whose_rows(node) %}
  {%- set shown = [] -%}
  {%- for one in node.depends_on.nodes if node.config.materialized == 'published' and node.unique_id in adapter.shown_by(one) -%}{%- do shown.append(one) -%}{%- endfor -%}
  {{ return('; ' ~ alluvium._name_of(node) ~ ' shows the rows of ' ~ alluvium._name_of(graph.nodes[shown[0]]) if shown else '') }}
{% endmacro %}


{#- The published models that show a node. -#}
{% macro _shown_by(unique_id) %}
  {%- set found = [] -%}
  {%- for one in adapter.shown_by(unique_id) -%}{%- do found.append(graph.nodes[one]) -%}{%- endfor -%}
  {{ return(found) }}
{% endmacro %}


{#- The enabled models that a text may mean: by its name, `name.vN`, either after its package and a dot, or its unique id.
    A model that names itself (caller, a unique id) means itself, whatever else has its name. -#}
{% macro _models_named(name, caller=none) %}
  {%- set found = [] -%}
  {%- for node in graph.nodes.values() if node.resource_type == 'model' and name is string and node.name in name -%}
    {%- if name in alluvium._names_of(node) -%}{%- do found.append(node) -%}{%- endif -%}
  {%- endfor -%}
  {%- set own = found | selectattr('unique_id', 'eq', caller) | list -%}
  {{ return(own or found) }}
{% endmacro %}


{#- Every text that may mean the model, the shortest first. -#}
{% macro _names_of(node) %}
  {%- set names = [node.name] -%}
  {%- if node.get('version') is not none -%}{%- do names.append(node.name ~ '.v' ~ node.version) -%}{%- endif -%}
  {{ return(names + [node.package_name ~ '.' ~ names[0], node.package_name ~ '.' ~ names[-1], node.unique_id]) }}
{% endmacro %}


{#- The shortest text that means this model and no other. -#}
{% macro _name_of(node) %}
  {%- for name in alluvium._names_of(node) if alluvium._models_named(name) | length == 1 -%}
    {{ return(name) }}
  {%- endfor -%}
{% endmacro %}


{#- What `dbt --select` takes for this model alone: its name where no other model has it, else its whole path. -#}
{% macro _selector_of(node) %}
  {{ return(node.name if alluvium._models_named(node.name) | length == 1 else node.fqn | join('.')) }}
{% endmacro %}


{#- A `ref` of the model, as another one writes it. -#}
{% macro _ref_of(node) %}
  {%- set package = "'" ~ node.package_name ~ "', " if alluvium._models_named(node.name) | map(attribute='package_name') | unique | list | length > 1 else '' -%}
  {%- set version = ', v=' ~ tojson(node.version) if node.get('version') is not none else '' -%}
  {{ return('ref(' ~ package ~ "'" ~ node.name ~ "'" ~ version ~ ')') }}
{% endmacro %}


{#- Why a text that means these models means none of them; none where it means one. -#}
{% macro _naming_mistake(name, found) %}
  {%- if found | length == 1 -%}{{ return(none) }}{%- endif -%}
  {%- if not found -%}
    {%- set known = [] -%}
    {%- for node in graph.nodes.values() if node.resource_type == 'model' -%}{%- do known.extend(alluvium._names_of(node)) -%}{%- endfor -%}
    {{ return("there is no enabled model '" ~ name ~ "'; accepted: the name of one, as `orders`,"
        ~ ' `orders.v2` or `shop.orders`, or a unique id' ~ alluvium._did_you_mean(name, known)) }}
  {%- endif -%}
  {%- set meant = [] -%}
  {%- for node in found | sort(attribute='unique_id') -%}
    {%- do meant.append(alluvium._name_of(node) ~ ' (' ~ node.unique_id ~ ')') -%}
  {%- endfor -%}
  {{ return("'" ~ name ~ "' is the name of " ~ found | length ~ ' models; accepted: ' ~ meant | join(', ')) }}
{% endmacro %}


{#- Whether the SQL of a model, `reader`, names this model in quotes. -#}
{% macro _is_named_by(node, reader, before='') %}
  {%- for name in alluvium._names_of(node)
         if modules.re.search(before ~ '[\'"]' ~ modules.re.escape(name) ~ '[\'"]', reader.raw_code) -%}
    {%- if alluvium._models_named(name, reader.unique_id) | map(attribute='unique_id') | list == [node.unique_id] -%}
      {{ return(true) }}
    {%- endif -%}
  {%- endfor -%}
  {{ return(false) }}
{% endmacro %}


{#- The unique id of the model whose SQL is rendered: of a unit test, the one that it tests. -#}
{% macro _calling_model() %}
  {{ return((model.get('tested_node_unique_id') or model.get('unique_id')) if model is defined else none) }}
{% endmacro %}


{% macro _existing_relation(node) %}
  {{ return(adapter.get_relation(database=node.database, schema=node.schema, identifier=node.alias)) }}
{% endmacro %}


{#- The same, with a line that says so where there is none yet. -#}
{% macro _built_relation(node, name) %}
  {%- set relation = alluvium._existing_relation(node) -%}
  {%- if relation is none -%}{%- do log(name ~ ': no table yet', info=true) -%}{%- endif -%}
  {{ return(relation) }}
{% endmacro %}
