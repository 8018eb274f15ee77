lat_pagefault -N 1 l.tmp
