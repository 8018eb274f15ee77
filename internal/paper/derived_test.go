package paper

import (
	"os"
	"strings"
	"testing"
)

// told returns how the derived columns of a table were read.
func told(notes []Note) string {
	var list []string
	for _, n := range notes {
		if strings.Contains(n.Text, "is read as") {
			list = append(list, n.Cell+" "+n.Text)
		}
	}
	return strings.Join(list, "; ")
}

// TestDerivedColumns: a column of differences, ratios, overheads or speed-ups is no system, and is recomputed.
func TestDerivedColumns(t *testing.T) {
	for _, c := range []struct {
		name, text, told string
		agree            int
		findings         string // kinds and explanations
	}{
		{"changes", "Test,host (s),kvm (s),Change\na,10.0,12.5,+25 %\nb,20.0,19.0,-5.0 %\n",
			"Change is read as 100 × (kvm / host − 1): 2 of 2 figures agree", 2, ""},
		{"a slip", "Test,host,kvm,Difference\na,10.0,12.5,+25 %\nb,20.00,22.00,+11 %\nc,10.0,15.0,+50.0%\n",
			"Difference is read as 100 × (kvm / host − 1): 2 of 3 figures agree", 2,
			"rounding rounded up instead of to the nearest"},
		{"truncated", "Test,host,kvm,diff\na,10000,12567,+25.6 %\nb,10000,13000,+30.0 %\n",
			"diff is read as 100 × (kvm / host − 1): 1 of 2 figures agree", 1, "rounding truncated instead of rounded"},
		{"ratios", "Test,host,kvm,ratio\na,10.00,12.50,1.25x\nb,20.00,19.00,0.95x\n",
			"ratio is read as kvm / host: 2 of 2 figures agree", 2, ""},
		{"plain ratios", "Test,host,kvm,slowdown\na,10.00,12.50,1.25\nb,20.00,19.00,0.95\n",
			"slowdown is read as kvm / host: 2 of 2 figures agree", 2, ""},
		{"ratios the other way round", "Test,before,after,speedup\na,10.00,5.00,2.00x\nb,30.00,10.00,×3.00\n",
			"speedup is read as before / after: 2 of 2 figures agree", 2, ""},
		{"an overhead without a sign", "Test,host,kvm,overhead\na,10.00,12.50,25.0 %\nb,20.00,19.00,5.0 %\n",
			"overhead is read as 100 × (kvm / host − 1): 2 of 2 figures agree", 2, ""},
		{"the heading names the base", "Test,host,kvm,xen,vs kvm\na,10.00,12.50,25.00,+100 %\nb,10.00,12.50,50.00,+300 %\n",
			"vs kvm is read as 100 × (xen / kvm − 1): 2 of 2 figures agree", 2, ""},
		{"two of them", "Test,host,kvm,kvm %,xen,xen %\na,10.0,12.5,+25 %,20.0,+100 %\nb,10.0,13.0,+30 %,15.0,+50 %\n",
			"kvm % is read as 100 × (kvm / host − 1): 2 of 2 figures agree; " +
				"xen % is read as 100 × (xen / host − 1): 2 of 2 figures agree", 4, ""},
		{"the cell names the winner", "Test,VM,Container,Winner\na,100,110,Container +10.0%\nb,103,100,VM +3.0%\n",
			"Winner is read as 100 × (Container / VM − 1): 2 of 2 figures agree", 2, ""},
		{"points", "Test,host,kvm,Difference\nCPU,40 %,38 %,-2 pts\nbusy,50 %,80 %,+30 pts\n",
			"Difference is read as kvm − host: 2 of 2 figures agree", 2, ""},
		{"points with a percent sign", "Test,host,kvm,Difference\nCPU,40 %,38 %,-2 %\nbusy,50 %,80 %,+30 %\n",
			"Difference is read as kvm − host: 2 of 2 figures agree", 2, ""},
		{"percent with one of points", "Test,host,kvm,Change\nCPU,40 %,38 %,-5.0 %\n" +
			"busy,50 %,80 %,+60.0 %\nidle,40 %,30 %,-10.0 %\n",
			"Change is read as 100 × (kvm / host − 1): 2 of 3 figures agree", 2, "arithmetic percentage points, not percent"},
		{"differences", "Test,host (s),kvm (s),Delta\na,10.0,12.5,+2.5\nb,20.0,19.0,-1.0\nc,20.0,19.0,+1.0\n",
			"Delta is read as kvm − host: 2 of 3 figures agree", 2, "arithmetic the sign is wrong"},
		{"shares", "Test,host,kvm,% of host\na,200,190,95 %\nb,1000,873,87.3 %\n",
			"% of host is read as 100 × kvm / host: 2 of 2 figures agree", 2, ""},
		{"one ratio among changes", "Test,host,kvm,%\na,10.0,12.5,+25 %\nb,20.0,19.0,-5.0 %\nc,10.0,19.7,1.97x\n",
			"% is read as 100 × (kvm / host − 1): 3 of 3 figures agree", 3, ""},
		{"slower and faster", "Test,host (MB/s),kvm (MB/s),Result\na,100,80,20 % slower\nb,100,110,10 % faster\n",
			"Result is read as 100 × (kvm / host − 1): 2 of 2 figures agree", 2, ""},
		{"the winner in words", "Test,Xen,KVM,Winner\nwrite (MB/s),198,245,KVM (1.24x faster)\n" +
			"build (s),212,231,\"Xen, 9% faster\"\nboot (s),10.0,12.0,Xen 30% faster\n",
			"Winner is read as 100 × (KVM / Xen − 1): 2 of 3 figures agree", 2, "inconsistent "},
		{"ratios without a heading", "Test,KVM,SlimVM,adv\na,200,190,0.950\nb,1000,873,0.873\nc,20.0,25.0,1.25\n",
			"adv is read as SlimVM / KVM: 3 of 3 figures agree", 3, ""},
		{"a wrong share", "Test,host,kvm,Relative performance (%)\na,200,190,95\nb,100,80,80\nc,1000,873,77.3\n",
			"Relative performance (%) is read as 100 × kvm / host: 2 of 3 figures agree", 2, "inconsistent "},
		{"percentages that are measured", "Test,host,kvm,xen\na,10 %,20 %,30 %\nb,40 %,50 %,60 %\n", "", 0, ""},
		{"a system with figures alone", "Test,host,kvm,relative\na,10,20,77\nb,40,50,88\n", "", 0, ""},
	} {
		a, notes := fill(t, "t.csv", c.text, NewOptions{})
		r := Audit(a)
		var findings []string
		for _, f := range r.Findings {
			findings = append(findings, string(f.Kind)+" "+f.Explanation)
		}
		if told(notes) != c.told || r.Agree != c.agree || strings.Join(findings, "; ") != c.findings || len(r.Unchecked) > 0 {
			t.Errorf("%s: %s; %d agree, %q, %+v", c.name, told(notes), r.Agree, findings, r.Unchecked)
		}
	}
}

// TestDerivedRow: in a table with a system in each row, the derived figures are a row, too.
func TestDerivedRow(t *testing.T) {
	a, notes := fill(t, "t.csv", "System,read (MB/s),write (MB/s)\nhost,100,200\nkvm,90,150\nOverhead,10 %,25 %\n",
		NewOptions{SystemsInRows: true})
	r := Audit(a)
	if got := strings.Join(a.Systems, " "); got != "host kvm" || r.Agree != 2 || a.Results[0].Unit != "MB/s" ||
		told(notes) != "Overhead is read as −(100 × (kvm / host − 1)): 2 of 2 figures agree" {
		t.Errorf("systems %s, %+v, %+v", got, r, notes)
	}
}

// TestUnitsInNames: the unit in a column's name makes no other system, and a bare word may be the unit of a row.
func TestUnitsInNames(t *testing.T) {
	a, notes := fill(t, "t.csv", "Test,host (MB/s),host (ms),kvm (MB/s),kvm (ms),Remark\n"+
		"seq,100,2.0 ± 0.1,90,2.5 ± 0.2,slow\n",
		NewOptions{})
	if got := strings.Join(a.Systems, " "); got != "host kvm" || len(a.Results) != 4 || len(notes) != 3 {
		t.Errorf("systems %s, %d results, %+v", got, len(a.Results), notes)
	}
	if r := Audit(a); len(r.Findings) > 0 {
		t.Errorf("%+v", r.Findings)
	}
	for name, unit := range map[string]string{"CPU, events/sec": "events/s", "Latency ms": "ms",
		"Throughput Gbits/sec": "Gbit/s",
		"TCP_STREAM Mbps":      "Mbit/s", "boot time, seconds": "s", "events in 10 seconds": "1",
		"read MiB/sec (O_DIRECT)": "MiB/s",
		"min":                     "1", "mb/sec": "1", "pgbench TPS": "transactions/s"} {
		a, _ := fill(t, "t.csv", "Test,host,kvm\n\""+name+"\",10,20\n", NewOptions{})
		if got := a.Results[0].Unit; got != unit {
			t.Errorf("%s: %s, not %s", name, got, unit)
		}
	}
}

// TestDerivedColumnsAreAsked: the author confirms a derived column, swaps its two sides, or says that it is a system.
func TestDerivedColumnsAreAsked(t *testing.T) {
	const table = "Test,host,kvm,Difference\na,10.0,12.5,+25 %\nb,20.0,19.0,-5.0 %\n"
	for _, c := range []struct {
		answer          Answer
		systems         string
		agree, findings int
	}{{Accepted, "host kvm", 2, 0}, {Swapped, "host kvm", 0, 2}, {IsSystem, "host kvm Difference", 0, 0}} {
		asked := 0
		a, _ := fill(t, "t.csv", table, NewOptions{Ask: func(d Derived) Answer {
			if asked++; d.Agree != 2 || d.Of != "kvm" || d.To != "host" {
				t.Errorf("%+v", d)
			}
			return c.answer
		}})
		r := Audit(a)
		if got := strings.Join(a.Systems, " "); got != c.systems || asked != 1 || r.Agree != c.agree ||
			len(r.Findings) != c.findings {
			t.Errorf("%v: systems %s, asked %d times, %+v", c.answer, got, asked, r)
		}
	}
	if a, notes := fill(t, "t.csv", table, NewOptions{NoDerived: true}); len(a.Systems) != 3 || told(notes) != "" {
		t.Errorf("%v", a.Systems)
	}
}

// TestDerivedOfSeveral: a derived figure of a line that the table has twice is left out and noted.
func TestDerivedOfSeveral(t *testing.T) {
	a, notes := fill(t, "t.csv", "Test,host (s),kvm (s),Change\na,10.0,12.5,+25 %\na,20.0,19.0,-5.0 %\n", NewOptions{})
	if len(a.Results) != 4 || !strings.Contains(notes[len(notes)-1].Text, `2 figures of`) {
		t.Errorf("%d results, %+v", len(a.Results), notes)
	}
}

// TestPublishedTables: tables of published comparisons. testdata/tables/README.md says where they come from.
func TestPublishedTables(t *testing.T) {
	for _, c := range []struct {
		file, told      string
		agree, findings int
	}{
		{"p1-vm-container-named.md", "Difference is read as 100 × (Container / VM − 1): 8 of 8 figures agree", 8, 0},
		{"p6-docker-randomio.md", "Difference is read as 100 × (Container / VM − 1): 5 of 6 figures agree", 5, 1},
		{"p8-kata-1073.md", "", 0, 0},
		{"p7-runc-gvisor-kata.md", "", 0, 0},
		{"p9-ratio.md", "ratio is read as guest / host: 6 of 6 figures agree", 6, 0},
	} {
		text, err := os.ReadFile("testdata/tables/" + c.file)
		if err != nil {
			t.Fatal(err)
		}
		a, notes := fill(t, c.file, string(text), NewOptions{})
		if r := Audit(a); told(notes) != c.told || r.Agree != c.agree || len(r.Findings) != c.findings ||
			len(r.Unchecked) > 0 {
			t.Errorf("%s: %s; %+v", c.file, told(notes), r)
		}
	}
}

// TestSecondLabelColumn: rows with the same first name stay apart, and a column without figures is no system.
func TestSecondLabelColumn(t *testing.T) {
	a, notes := fill(t, "t.md", "disk |   | A | B | ratio\n-|-|-|-|-\nio | write (MB/s) | 10.0 | 5.0 | 0.50x\n"+
		"io | read (Events/sec) | 20 | 30 | 1.50x\nio | time(seconds) | 7 | 8 | n/a\nio | other | 7 | 8 | -\n", NewOptions{})
	var got []string
	for _, r := range a.Results {
		got = append(got, r.Workload+" "+r.System+" "+r.Unit)
	}
	want := "io, write (MB/s) A MB/s; io, write (MB/s) B MB/s; io, write (MB/s) B 1; " +
		"io, read (Events/sec) A events/s; io, read (Events/sec) B events/s; io, read (Events/sec) B 1; " +
		"io, time(seconds) A s; io, time(seconds) B s; io, other A 1; io, other B 1"
	if strings.Join(got, "; ") != want || Audit(a).Agree != 2 {
		t.Errorf("%s", strings.Join(got, "; "))
	}
	unitless := 0
	for _, n := range notes {
		if strings.Contains(n.Text, "has no unit") {
			unitless++
		}
	}
	if unitless != 1 {
		t.Errorf("%d notes of a line without a unit, not one: %+v", unitless, notes)
	}
}

// TestPowersOfTen: the exponent belongs to the number, and the last printed place is that of its digits.
func TestPowersOfTen(t *testing.T) {
	a, _ := fill(t, "t.csv", "Test,A,B,ratio\nx,2.90e7 ops/s,2.76e7 ops/s,0.95x\n"+
		"y,1.50e-3 s,3.00E-3 s,2.00x\n", NewOptions{})
	v := a.Results[0].Values[0]
	if r := Audit(a); !same(v.Value, 2.9e7) || !same(v.Resolution, 1e5) || a.Results[0].Unit != "ops/s" || r.Agree != 2 ||
		len(r.Findings) > 0 {
		t.Errorf("%+v %+v", a.Results[0], r)
	}
}

// FuzzNew: whatever a page has, its figures make a file that can be read, or an error.
func FuzzNew(f *testing.F) {
	f.Add("| Test | A | B | Difference |\n|---|---|---|---|\n| x | 1 s | 2 s | +100 % |\n| y | 3 | 4.1e6 | 1.33x |\n")
	f.Add("a|b (s)|c|Δ|e\n-|-|-|-|-\nx|40 %|38 %|-2 pts|B +3 %\nx|~1|<2|±|×3\n")
	f.Fuzz(func(t *testing.T, page string) {
		sheets, err := ReadSheets("t.md", page)
		if err != nil {
			return
		}
		file, _, err := New(sheets, NewOptions{Name: "mine"})
		if err != nil {
			return
		}
		a, err := Parse("mine.yaml", file)
		if err != nil {
			t.Fatalf("%v\n%s", err, file)
		}
		Audit(a)
	})
}
