{#- By name: a view of no row would outlive the run with `--empty`. -#}
{{ alluvium._block_rows(ref('alluvium_actions').render()) }}
