perf bench internals inject-build-id -i 3
