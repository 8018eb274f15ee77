perl ./Run -q -i 1 -c 1 pipe fstime spawn
