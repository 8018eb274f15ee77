published output of wrk2 with -U
