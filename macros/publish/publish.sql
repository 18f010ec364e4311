{#- dbt run-operation alluvium.publish --args '{model: flights, untested: true}'

    Lets readers of a published model see the newest version of its candidate, whatever tests say of it. A version that a checkout holds
    is let go. No test runs here, so `untested: true` has to say that this is meant. `dry_run: true` only says what would be done. -#}
{% macro publish(model=none, untested=false, dry_run=false) %}
  {%- set given = {'model': model, 'untested': untested, 'dry_run': dry_run} -%}
  {%- if not alluvium._begin_operation('publish', given, kwargs, 'publishes nothing') -%}{{ return('') }}{%- endif -%}
  {%- set node = alluvium._find_published(model, 'alluvium.publish') -%}
  {%- if not untested -%}
    {%- do exceptions.raise_compiler_error('alluvium.publish: an operation runs no test, so readers would see rows that nothing tested;'
        ~ ' accepted: untested: true, or `dbt build -s +' ~ alluvium._selector_of(node) ~ '`, which publishes what passes.') -%}
  {%- endif -%}
  {%- do alluvium._tell(adapter.publish_untested(node.unique_id, alluvium._existing_relation(node), dry_run), dry_run) -%}
{% endmacro %}
