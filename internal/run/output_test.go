package run

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/system/fake"
)

// TestOutputOfManyGuests: however many guests write as much as they can, what tare holds of a trial is bounded.
func TestOutputOfManyGuests(t *testing.T) {
	before := trialOutput
	trialOutput = 16 << 20
	t.Cleanup(func() { trialOutput = before })
	const atOnce = 24
	text := strings.Replace(yaml, "blocks: 4",
		fmt.Sprintf("blocks: 1\noutput_limit: 1MiB\nscenarios: [{name: many, guests: %d}]", atOnce), 1)
	b := newBench(t, text)
	flood := strings.Repeat("x", 2<<20)
	b.other.Behave = func(argv []string) fake.Behaviour {
		if argv[0] == "prepare" {
			return fake.Behaviour{Stdout: flood, Stderr: flood}
		}
		return good(argv)
	}
	if _, err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", b.path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT count(*), sum(length(stdout) + length(stderr)), sum(stdout_bytes + stderr_bytes)
		FROM step JOIN attempt ON attempt.id = step.attempt
		WHERE step.name = 'prepare' GROUP BY attempt.arm, attempt.block, attempt.position`)
	if err != nil {
		t.Fatal(err)
	}
	flooded := false
	for rows.Next() {
		var guests, kept, written int64
		if err := rows.Scan(&guests, &kept, &written); err != nil {
			t.Fatal(err)
		}
		flooded = flooded || written >= guests*2*int64(len(flood))
		// On a busy host, the guests are measured again.
		if attempts := (guests + atOnce - 1) / atOnce; kept > attempts*trialOutput {
			t.Errorf("of the %d bytes that %d guests wrote, %d are held", written, guests, kept)
		}
	}
	if err := rows.Err(); err != nil || !flooded {
		t.Errorf("no trial of guests that write too much: %v", err)
	}
}
