perf bench internals kallsyms-parse -i 3
