package report

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	r := makeRun(t, 12, "blocks")
	var b strings.Builder
	must(t, Table(&b, analyzed(t, r), contextOf(t, r)))
	t.Log("\n" + b.String())
}
