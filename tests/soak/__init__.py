"""Kill a connector again and again while records keep coming, and see whether its table is right at the end.

    python -m tests.soak --minutes 10 --seed 1

All parts are real: a broker, `frazil run` as a process of its own, Spark, the embedded catalog. What happens to them is
drawn from the seed. At the end the oracle compares the table with what the broker holds.
"""
