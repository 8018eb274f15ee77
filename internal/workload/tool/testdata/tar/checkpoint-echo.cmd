time tar cf t.tar --record-size=5120 --checkpoint=2 --checkpoint-action=echo='Hit %s checkpoint #%u, %T %d s' tree
