"""The only place that touches the JVM: catalog, tokens, commit, birth, evolution, reject lists, maintenance."""
