time tar cf t.tar --checkpoint=2 --checkpoint-action=totals --totals --record-size=512 tree | head -50
