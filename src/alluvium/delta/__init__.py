"""What the library knows of Delta tables: the one package that touches Delta's JVM classes (4.4).

None of it is reachable over Spark Connect or Thrift.
"""
