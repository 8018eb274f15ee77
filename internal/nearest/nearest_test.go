package nearest

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"openssl-enc", "dd-write", "untar-kernel", "stress-ng-exec", "fio-randread", "fio-randwrite",
		"sysbench-cpu"}
	for _, tc := range []struct{ word, want string }{
		{"opensl-enc", "openssl-enc"},
		{"openssl", "openssl-enc"},
		{"dd-wirte", "dd-write"},
		{"DD-Write", "dd-write"},
		{"fio-randrea", "fio-randread"},
		{"fio-randwrit", "fio-randwrite"},
		{"sysbench_cpu", "sysbench-cpu"},
		{"dd-write", "dd-write"},
		{"quake", ""},
		{"", ""},
		{"žluťoučký kůň", ""},
	} {
		if got := Nearest(tc.word, names); got != tc.want {
			t.Errorf("Nearest(%q) = %q, want %q", tc.word, got, tc.want)
		}
	}
	if got := Nearest("x", nil); got != "" {
		t.Errorf("nothing to choose from gave %q", got)
	}
	if got := Nearest("ab", []string{"cd", "abc", "abd"}); got != "abc" {
		t.Errorf("of equals the first should win, got %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3},
		{"kitten", "sitting", 3}, {"ab", "ba", 1}, {"ca", "abc", 3},
		{"kůň", "kun", 2},
	} {
		if got := distance(tc.a, tc.b); got != tc.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
