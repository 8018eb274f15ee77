// The program of the container image that tests measure: it fails unless it runs as the image says. It does some work,
// or it serves.
package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"
)

func main() {
	wd, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	how := os.Args[len(os.Args)-1]
	if got, want := fmt.Sprint(os.Getuid(), os.Getgid(), wd, os.Getenv("GREETING"), os.Getenv("HOME"), os.Args),
		fmt.Sprint(1234, 1234, "/srv", "hello", "/home/web", []string{"/bin/app", how}); got != want ||
		!slices.Contains([]string{"work", "serve", "exit"}, how) {
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
	switch how {
	case "serve":
		serve()
	case "exit":
		fmt.Fprintln(os.Stderr, "there is no database")
		os.Exit(3)
	}
	block, sums := make([]byte, 64<<10), 0
	for begin := time.Now(); time.Since(begin) < 20*time.Millisecond; sums++ {
		block[0] = sha256.Sum256(block)[0]
	}
	fmt.Println("made sums:", sums > 0)
}

// serve answers with the number of the request, which it keeps in a file of the image's volume. /broken fails.
func serve() {
	turn, count := make(chan struct{}, 1), 0
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		turn <- struct{}{}
		defer func() { <-turn }()
		count++
		err := os.WriteFile("/var/lib/app/count", fmt.Append(nil, count), 0o600)
		if err != nil || r.URL.Path == "/broken" {
			http.Error(w, fmt.Sprint("it does not work: ", err), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, count)
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe(":8080", nil))
	os.Exit(1)
}
