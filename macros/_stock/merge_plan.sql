{#- What a merge of `source` into `relation` would do on a stock target: the texts, the settings, what the batch holds.
    There Python cannot plan it. Runs queries, changes nothing. Raises where the batch is unfit.

    On an alluvium target `adapter.merge` does the same. What is decided here stands in `alluvium.plan.merge` as well. -#}
{% macro _merge_plan(relation, source, node, predicates=none, is_new=false) %}
  {%- set table = alluvium._stored_table(relation) -%}
  {%- set outline = alluvium._merge_outline(node, relation, table, adapter.get_columns_in_relation(source)) -%}
  {%- do alluvium._refuse_merge(node, outline.mistakes) -%}
  {%- for warning in outline.warnings -%}{%- do exceptions.warn(warning) -%}{%- endfor -%}
  {%- set settings = outline.settings -%}
  {%- set look = alluvium._merge_look(source.render(), outline, []) -%}
  {%- set profile = alluvium._merge_profile(run_query(look.profile).rows, outline.controls) -%}
  {%- if profile.tied -%}
    {%- do profile.update({'deletes': run_query(look.deletes).rows[0][0] | int}) -%}
  {%- endif -%}
  {%- set recorded = none if is_new else alluvium._read_progress(relation, node.unique_id, table.id) -%}
  {%- set progress = recorded if recorded is not none else -1 -%}
  {%- set mistake = alluvium._batch_mistake(settings, profile, progress) -%}
  {%- if mistake -%}{%- do exceptions.raise_compiler_error(node.name ~ ': ' ~ mistake) -%}{%- endif -%}
  {%- if profile.blurred -%}
    {%- do exceptions.warn(node.name ~ ': ' ~ alluvium._order_warning(settings, profile, outline.types, outline.source_types)) -%}
  {%- endif -%}
  {%- set kept = none -%}
  {%- if profile.incomplete -%}
    {%- set found = alluvium._kept_columns(outline, fromjson(run_query(look.lacked).rows[0][0])) -%}
    {%- do alluvium._refuse_merge(node, found.mistakes) -%}
    {%- set kept = found.columns -%}
  {%- endif -%}
  {%- set method = alluvium._range_choice(settings, profile, is_new) -%}
  {%- set bounds = {'none': [], 'min_max': [profile]}[method] if method != 'gaps' else fromjson(run_query(look.gaps).rows[0][0] or '[]') -%}
  {%- set inserted = profile.null_keys if settings.null_keys == 'insert' else 0 -%}
  {%- do profile.update({'events': profile.events + inserted, 'key_count': profile.key_count + inserted}) -%}
  {%- set texts = alluvium._merge_texts(
      node, relation, source.render(), outline, profile, bounds, none if method == 'none' else method, none, predicates, kept) -%}
  {{ return(dict(
      texts, settings=settings, profile=profile, method=method, through=profile._batch_through, table_id=table.id,
      added=outline.added,
      pending=alluvium._is_pending(profile, progress))) }}
{% endmacro %}


{#- One look at a merged table: its `columns`, `partitions`, the names of those that it is partitioned by, and `id`, which every
    (re)creation renews. Then what nobody can tell on a stock target. `made`: columns that the table fills itself where a batch
    leaves them out (generated, identity, default), and of each whether no batch may bring it. `padded`: columns of CHAR, each
    with its type; DESCRIBE calls them string. `limits`: by lower-case name, how many characters a column of VARCHAR may have;
    there Delta stops the merge. -#}
{% macro _stored_table(relation) %}
  {{ return(dict(alluvium._table_detail(relation), columns=adapter.get_columns_in_relation(relation), made={}, padded=[], limits={})) }}
{% endmacro %}


{#- The table's `id`, and `partitions`. -#}
{% macro _table_detail(relation) %}
  {%- set row = run_query('describe detail ' ~ relation.render()).rows[0] -%}
  {#- Each client writes an array in its own way: as JSON, or as Python or NumPy print it. -#}
  {{ return({'id': row['id'], 'partitions': modules.re.findall('["\']([^"\']+)["\']', row['partitionColumns'] | string)}) }}
{% endmacro %}


{#- The figures of a batch, of the rows that `_merge_profile_sql` gives: those of the events that the merge takes. Of
    the others it says how many they are (`rejects`, `null_keys`). The control columns are those of all. -#}
{% macro _merge_profile(rows, controls) %}
  {%- set found = {'merged': {}, 'null_key': {}, 'rejected': {}} -%}
  {%- for row in rows -%}
    {%- do found.update({row[0]: fromjson(row[1])}) -%}
  {%- endfor -%}
  {%- set profile = found.merged -%}
  {%- for figure in ('events', 'key_count', 'deletes', 'delete_events', 'tied', 'blurred', 'lacking', 'outside') -%}
    {%- do profile.update({figure: profile.get(figure) or 0}) -%}
  {%- endfor -%}
  {%- do profile.update({'null_keys': found.null_key.get('events') or 0, 'rejects': found.rejected.get('events') or 0,
                         'incomplete': (profile.get('incomplete') or 0) + (found.null_key.get('incomplete') or 0)}) -%}
  {%- for control in ('_batch_through', '_batch_after') -%}
    {%- set values = found.values() | map(attribute=control) | select('number') | list -%}
    {%- do profile.update({control: (values | max if control == '_batch_through' else values | min) if values else none}) -%}
  {%- endfor -%}
  {{ return(profile) }}
{% endmacro %}


{#- Why the events cannot be merged: nothing says which is the newest, or the batch does not begin where the table's progress ends. -#}
{% macro _batch_mistake(settings, profile, progress) %}
  {%- if not settings.order_by and settings.on_match == 'update' and profile.events > profile.key_count -%}
    {{ return(profile.events ~ ' events for ' ~ profile.key_count
        ~ ' keys, and nothing says which is the newest. Set order_by in meta.alluvium_merge.') }}
  {%- endif -%}
  {%- set after = profile._batch_after -%}
  {%- if profile.events and alluvium._start_mistake(after, progress) -%}{{ return(alluvium._start_mistake(after, progress)) }}{%- endif -%}
  {%- if profile.null_keys and settings.null_keys == 'insert' and after is not none and after < progress -%}
    {{ return('the staged batch starts after event batch ' ~ after ~ ', but the table holds those up to '
        ~ progress ~ '. With null_keys: insert it would add events without a key once more. Run the model that stages the batch again, together with this one.') }}
  {%- endif -%}
  {{ return(none) }}
{% endmacro %}


{#- Says that events are told apart by more than the table can store of them. -#}
{% macro _order_warning(settings, profile, types, source_types) %}
  {%- set columns = [] -%}
  {%- for column in settings.stored_order -%}
    {%- do columns.append(column ~ ' is ' ~ source_types[column | lower] ~ ' in the batch and ' ~ types[column | lower] ~ ' in the table') -%}
  {%- endfor -%}
  {{ return('order_by: ' ~ columns | join(', ') ~ ', which stores the order of ' ~ alluvium._counted(profile.blurred, 'event')
      ~ ' otherwise. A later event that is stored with the same order changes nothing. Give the table the type of the batch.') }}
{% endmacro %}


{#- Says that a batch with events brought none that may be merged. -#}
{% macro _rejected_warning(rejected, table) %}
  {{ return('the batch holds no event that may be merged: ' ~ alluvium._counted(rejected, 'event') ~ ' rejected and kept in '
      ~ table ~ ', whose column reason says why') }}
{% endmacro %}


{#- What SQL can find of ranges: `gaps`, `min_max` or `none`. -#}
{% macro _range_choice(settings, profile, is_new) %}
  {%- if not settings.ranges or profile.get('lo') is none -%}{{ return('none') }}{%- endif -%}
  {{ return('min_max' if is_new or settings.ranges.method in ('none', 'min_max') else 'gaps') }}
{% endmacro %}


{#- Whether the batch holds what the table has not merged. -#}
{% macro _is_pending(profile, progress) %}
  {%- set through = profile._batch_through -%}
  {%- set is_further = through is not none and through > progress -%}
  {{ return((profile.events > 0 and (through is none or is_further)) or (profile.null_keys + profile.rejects > 0 and is_further)) }}
{% endmacro %}
