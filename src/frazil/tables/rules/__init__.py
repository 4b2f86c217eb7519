"""What tokens, commits and names mean: pure rules over values, which know neither Spark nor the JVM."""
