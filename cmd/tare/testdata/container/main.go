// The program of the container image that tests measure: it fails unless it runs as the image says.
package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"time"
)

func main() {
	wd, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	if got, want := fmt.Sprint(os.Getuid(), os.Getgid(), wd, os.Getenv("GREETING"), os.Getenv("HOME"), os.Args),
		fmt.Sprint(1234, 1234, "/srv", "hello", "/home/web", []string{"/bin/app", "work"}); got != want {
		fmt.Fprintf(os.Stderr, "it runs as %s instead of %s\n", got, want)
		os.Exit(1)
	}
	for _, file := range []string{"/var/lib/app/out", "/tmp/out", "/data/out"} {
		if err := os.WriteFile(file, []byte("1"), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if err := os.WriteFile("/etc/passwd", nil, 0o600); err == nil {
		fmt.Fprintln(os.Stderr, "the image can be written to")
		os.Exit(1)
	}
	block, sums := make([]byte, 64<<10), 0
	for begin := time.Now(); time.Since(begin) < 20*time.Millisecond; sums++ {
		block[0] = sha256.Sum256(block)[0]
	}
	fmt.Println("made sums:", sums > 0)
}
