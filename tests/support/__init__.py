"""What tests of several rooms share.

What each process of a test run has one of, a broker and a Spark session, are fixtures in `tests/conftest.py`; the
source and the tables in memory are `tests/memory`.

| | |
| --- | --- |
| `sending` | numbered records that the oracle knows, and their rows |
| `connectors` | the least settings of a connector |
| `waiting` | what tests wait for in a connector that runs |
| `processes` | the command as users run it |
| `proxy`, `disks` | a network and a disk that fail |
| `rest`, `s3`, `h2`, `jars` | catalogs and stores, and the jars they need |
| `sessions` | what others on the machine see of a Spark session |
| `certificates`, `bare` | keys, and a Python with nothing in it |
"""
