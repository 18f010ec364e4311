"""What the adapter does beside dbt-spark: a file a verb, each a class that `AlluviumAdapter` is of.

What a verb needs apart from the adapter's state stands in the modules beside this folder.
"""
