package paper

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestAuditGolden: the findings in the five articles. Each was checked by hand against
// the article's figures:
//
//   - abclinuxu, cpu.1: 50.674/47.639 is 1.06371, printed +6.3 %; the mean and
//     the maximum beside it are truncated too, and so are cpu.3's 8.758 and
//     kernel.4's 3.5638. Elsewhere the article rounds. Its prose truncates once:
//     3.977 of 4 is 0.575 % off, printed 0.5 %. disk.2's -86.7 % looks wrong next
//     to its rates (1.73/12.94 gives -86.63), but the rates are rounded, and the
//     times give -86.66, so it agrees.
//     By its means, Xen's iozone is a third faster than KVM's; by the run times, 18 times slower,
//     so that it calls the means unusable itself.
//     It labels MiB/s as MB/s: 16 GiB in 273.366 s are 62.8 MB/s, and it prints 59,93.
//   - habr: the printed "just under 7 %" is (32.396-30.247)/32.396, 6.63 %; against
//     native's time it is 7.1 %. It says that most disk patterns cost as much, but of bonnie++'s
//     twelve rates one does: nine are higher in the guest.
//   - latgrid: dd's own rate and time(1)'s time disagree by 1.3 % to 188 % in 8
//     of 12 cells; the other 4 are within 1 %. Its prose says about 17 %, but one of
//     three guests has 14 %; it says up to 20 %, but the table beside it has 28 %. It
//     labels microseconds as ms. "About 10 times" is 12.6 by the rates and 5.2 by the
//     times, five of eight dd rates show a loss, and the least is 39 MB/s, not 50. Of the
//     figures called 6 to 8 thousand, one is 8.7. In one of four cells, the 512 MB guest
//     is not faster.
//   - yunweiku: 22 % fewer operations at depth 1 are 28 % more latency, not 33 %.
func TestAuditGolden(t *testing.T) {
	var b strings.Builder
	for _, a := range All() {
		r := Audit(a)
		fmt.Fprintf(&b, "%s: %d agree, %d rounding, %d arithmetic, %d inconsistent, %d unchecked\n",
			r.Article, r.Agree, r.Count(Rounding), r.Count(Arithmetic), r.Count(Inconsistent), len(r.Unchecked))
		for _, f := range r.Findings {
			printed, recomputed := f.Values()
			fmt.Fprintf(&b, "%s %s:%d: %s: printed %s, recomputed %s = %s (%s)\n", f.Kind, f.Article, f.Line, f.Row, printed,
				recomputed, f.How, f.Explanation)
		}
	}
	golden(t, "audit.txt", []byte(b.String()))
}

func TestFindingJSON(t *testing.T) {
	a, err := Get("habr-truevds-xen-disk")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(Audit(a).Findings)
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	if err := json.Unmarshal(text, &list); err != nil || len(list) != 2 {
		t.Fatal(string(text), err)
	}
	f := list[0]
	if f["article"] != "habr-truevds-xen-disk" || f["row"] != "cpio | solo | xen-pv | real (single)" ||
		f["kind"] != "arithmetic" ||
		f["printed"] != 7.0 || math.Abs(f["recomputed"].(float64)-7.105) > 0.001 || f["unit"] != "%" ||
		f["printed_text"] != "<7" {
		t.Error(string(text))
	}
}

// TestSlips plants one slip of each kind.
func TestSlips(t *testing.T) {
	text, err := os.ReadFile("testdata/slips.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a, err := Parse("slips.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	r := Audit(a)
	var got []string
	for _, f := range r.Findings {
		got = append(got, fmt.Sprintf("%s: %s: %s", f.Row, f.Kind, f.Explanation))
	}
	want := []string{
		"truncated | solo | kvm | mean: rounding: truncated instead of rounded",
		"other base | solo | kvm | mean: arithmetic: percent of the other base: 100 × (51.0 − 41.0) / 51.0",
		"swapped | solo | kvm | mean: arithmetic: base and value are swapped: 100 × (41.0 / 51.0 − 1)",
		"sign | solo | kvm | mean: arithmetic: the sign is wrong",
		"share | solo | kvm | mean: arithmetic: the ratio in percent, not the change: 100 × 51.0 / 41.0",
		"wrong row | solo | kvm | mean: arithmetic: against the wrong row: wrong row | solo | host | min (line 20)",
		"wrong column | solo | kvm | mean: arithmetic: of the wrong row: wrong column | solo | xen | mean (line 23)",
		"point | solo | kvm | mean: arithmetic: the decimal point is in the wrong place",
		"digits | solo | kvm | mean: arithmetic: two digits are swapped: 25.9",
		"nonsense | solo | kvm | mean: inconsistent: ",
		"ratio | solo | kvm | inverted: arithmetic: the ratio is inverted: 41.0 / 51.0",
		"ratio | solo | kvm | change: arithmetic: the change, not the ratio",
		"ratio | solo | kvm | bound: inconsistent: ",
		"rate | unit | kvm | single: arithmetic: the unit is MiB/s, 2^20 bytes, not 10^6; at 102.4 MB/s it takes 10.486 s, " +
			"but the time is 10 s",
		"rate | cached | kvm | single: inconsistent: at 541 MB/s it takes 1.9847 s, but the time is 10 s",
		"spread | xen | xen | mean: inconsistent: at 105.0 MB/s it takes 9.5238 s, but the time is 10 s",
		"queue | impossible | kvm | mean latency: inconsistent: 12.4 operations in flight instead of 8",
		"mean | solo | kvm | mean: inconsistent: ",
		"column | solo | kvm | wrong mean: arithmetic: the sum is divided by 2, not by 3",
		"column | solo | kvm | median as mean: arithmetic: it is the median, not the mean",
		"column | solo | kvm | sum: arithmetic: kvm (line 72) is left out",
		"label | other | kvm | single: inconsistent: labelled ms, which is another unit than us",
		"label | words | kvm | single: inconsistent: the value of the file is not in them",
		"units | solo | kvm | single: inconsistent: in kB/s, the figure would differ from theirs by a factor of 1034",
		"block | wrong | kvm | throughput: arithmetic: the unit is MiB/s, 2^20 bytes, not 10^6",
		"odd | solo | host | single: inconsistent: in kB/s, the figure would differ from theirs by a factor of 940.66",
		"reversed | solo | kvm | max: inconsistent: ",
		"claim: no less than 81 MB/s: inconsistent: ",
		"claim: about 50 s: inconsistent: ",
		"claim: less than 1 % slower: inconsistent: ",
		"claim: slower in one of the two scenarios: inconsistent: ",
		"claim: kvm wins: inconsistent: ",
		"claim: kvm loses up to 20 %: arithmetic: percent of the other base: 100 × (51.0 − 41.0) / 51.0",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if r.Agree != 25 || len(r.Unchecked) != 2 {
		t.Errorf("%d agree, unchecked %v", r.Agree, r.Unchecked)
	}
}

// entry is a row of a made-up table.
func entry(system, statistic, unit string, value float64, places int, derived string) string {
	printed := strconv.FormatFloat(value, 'f', places, 64)
	return fmt.Sprintf("- {table: t, workload: w, scenario: solo, system: %s, statistic: %s, value: %s, unit: %s, "+
		"printed: \"%s %s\", size_bytes: 1000000000%s}\n",
		system, statistic, printed, unit, printed, unit, derived)
}

// consistent returns an article that was calculated with unrounded numbers and prints
// each with a random number of places. off is added to the printed change, in units of
// its last place.
func consistent(rng *rand.Rand, off float64) string {
	places := rng.IntN(4)
	host := math.Exp(rng.NormFloat64()*2 + 4)
	guest := host * math.Exp(rng.NormFloat64())
	percentPlaces := rng.IntN(4)
	change := 100*(guest/host-1) + off*math.Pow10(-percentPlaces)
	var b strings.Builder
	b.WriteString("document: {short_name: made-up, title: Made up}\nsystems: {host: {}, kvm: {}}\nresults:\n")
	b.WriteString(entry("host", "mean", "s", host, places, ""))
	b.WriteString(entry("kvm", "mean", "s", guest, rng.IntN(4),
		fmt.Sprintf(", baseline: host, printed_delta_pct: %s", strconv.FormatFloat(change, 'f', percentPlaces, 64))))
	b.WriteString(entry("kvm", "mean", "MB/s", 1000/guest, rng.IntN(4), ""))
	ratio := strconv.FormatFloat(guest/host, 'f', rng.IntN(5), 64)
	b.WriteString(entry("kvm", "ratio", "'1'", guest/host, 4,
		", printed_ratio: "+ratio+", of: {statistic: mean, unit: s}, to: {system: host, statistic: mean}"))
	return b.String()
}

// TestConsistentTables: a correct table has no finding, however its numbers were rounded.
func TestConsistentTables(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	checked := 0
	for range 3000 {
		text := consistent(rng, 0)
		a, err := Parse("made-up.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		r := Audit(a)
		checked += r.Agree
		if len(r.Findings) > 0 {
			t.Fatalf("%+v\n%s", r.Findings[0], text)
		}
	}
	if checked < 8000 {
		t.Errorf("only %d checks", checked)
	}
}

// TestFindsWhatIsOff: if the raw figures are exact enough, the audit finds a change that
// is 50 units off in its last place, and never calls it rounding.
func TestFindsWhatIsOff(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	found := 0
	for range 2000 {
		a, err := Parse("made-up.yaml", []byte(consistent(rng, 50)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range Audit(a).Findings {
			if f.Check != "change" {
				t.Fatalf("%+v", f)
			}
			if width := f.High - f.Low; f.Kind == Rounding && width < 10*math.Pow10(-f.decimals) {
				t.Fatalf("%+v", f)
			}
			found++
		}
	}
	if found < 500 {
		t.Errorf("only %d found", found)
	}
}
