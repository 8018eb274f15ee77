module github.com/tare-bench/tare

go 1.25
