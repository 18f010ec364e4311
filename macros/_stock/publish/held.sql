{#- Why this invocation publishes nothing on a stock target; none where it may. That a test passed is known from dbt: it skips a model where a
    test before it failed. state: what the candidate is now; sql: of the published model, as dbt compiled it. -#}
{% macro _held(node, candidate, tests, source, state, sql) %}
  {%- set targets = alluvium._as_list(alluvium._publish_settings(node).targets) -%}
  {%- if targets and target.name not in targets -%}
    {{ return('target ' ~ target.name ~ ' publishes nothing, meta.alluvium_publish has targets: ' ~ targets | join(', ')) }}
  {%- elif flags.WHICH not in ('build', 'retry') -%}
    {{ return('`dbt ' ~ flags.WHICH ~ '` publishes nothing, `dbt build` does') }}
  {%- elif flags.EMPTY or flags.SAMPLE -%}
    {{ return(('--empty' if flags.EMPTY else '--sample') ~ ' publishes nothing') }}
  {%- elif flags.USE_FAST_TEST_EDGES and tests -%}
    {{ return('with --use-fast-test-edges a model may run before a test that it waits for') }}
  {%- elif not modules.re.search('(?<![\\w.`])' ~ modules.re.escape(source.render()) ~ '(?![\\w.`])', sql) -%}
    {{ return('--defer reads a table of another target, which is not published here') }}
  {%- endif -%}
  {%- set ledger = alluvium._audit_ledger() -%}
  {%- set missing = tests | rejectattr('unique_id', 'in', ledger.tests) | map(attribute='name') | sort -%}
  {%- if missing -%}
    {{ return(missing | length ~ ' of ' ~ tests | length ~ ' tests did not run (' ~ missing[:3] | join(', ') ~ (', …' if missing | length > 3 else '') ~ ')') }}
  {%- endif -%}
  {{ return(alluvium._written_since(candidate, source, ledger.states.get(candidate.unique_id, []), state) if tests else none) }}
{% endmacro %}


{#- Whether rows may have come while the tests ran. states: those that a test began at. -#}
{% macro _written_since(candidate, source, states, state) %}
  {%- set same = states | selectattr('id', 'eq', state.id) | map(attribute='version') | list -%}
  {%- if not states or same | length != states | length -%}
    {{ return('its tests read another table ' ~ candidate.name) }}
  {%- endif -%}
  {%- set keeps_rows = ('OPTIMIZE', 'REORG', 'COMPUTE STATS', 'VACUUM START', 'VACUUM END', 'SET TBLPROPERTIES', 'UNSET TBLPROPERTIES') -%}
  {%- set seen = [] -%}
  {%- if same | min < state.version -%}
    {%- for row in run_query('describe history ' ~ source.render() ~ ' limit 100').rows if same | min < row['version'] | int <= state.version -%}
      {%- do seen.append(row['version']) -%}
      {%- if row['operation'] not in keeps_rows -%}
        {{ return('version ' ~ alluvium._thousands(row['version'] | int) ~ ' of ' ~ candidate.name ~ ' (' ~ row['operation'] ~ ') came while its tests ran') }}
      {%- endif -%}
    {%- endfor -%}
  {%- endif -%}
  {%- if seen | length < state.version - same | min -%}
    {{ return('more versions of ' ~ candidate.name ~ ' came while its tests ran than are looked at') }}
  {%- endif -%}
  {{ return(none) }}
{% endmacro %}


{#- Stops a model that stays as it is, where it is asked to publish, or shows nothing yet. -#}
{% macro _check_stays(node, candidate, head, why) %}
  {%- set settings = alluvium._publish_settings(node) -%}
  {%- set targets = alluvium._as_list(settings.targets) -%}
  {#- The tests of the candidate come with it. -#}
  {%- set accepted = '; accepted: `dbt build -s ' ~ candidate.name ~ ' ' ~ node.name ~ '`' -%}
  {%- if settings.require and (not targets or target.name in targets) -%}
    {%- do exceptions.raise_compiler_error(node.name ~ ': ' ~ why ~ ', and meta.alluvium_publish says require: true'
        ~ accepted) -%}
  {%- elif head.version is none and settings.before_first != 'empty' and not flags.EMPTY and not flags.SAMPLE -%}
    {%- do exceptions.raise_compiler_error(node.name ~ ': nothing is published yet, and ' ~ why ~ accepted
        ~ ', or meta.alluvium_publish: {before_first: empty}') -%}
  {%- endif -%}
{% endmacro %}
