written in the form of wrk 3, indented as in its README
