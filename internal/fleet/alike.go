package fleet

import (
	"fmt"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/compare"
)

// comparable returns the machines whose costs are of the same thing, each with those of its runs that
// have one, and adds the others to out.
func comparable(c analyze.Comparison, machines []Machine, out *[]LeftOut) []Machine {
	var with []Machine
	for _, m := range machines {
		var runs []*Run
		why := "it did not measure this"
		for _, r := range m.Runs {
			k := r.Comparison(c.Of())
			switch {
			case k.Arm == "":
			case k.Ratio <= 0:
				why = "it has no values"
			case r.Doubt(k) != "":
				why = r.Doubt(k)
			case !(k.StdErr > 0):
				why = "it has too few blocks for an interval"
			default:
				runs = append(runs, r)
			}
		}
		if runs == nil {
			*out = append(*out, LeftOut{m.Name, why})
			continue
		}
		with = append(with, Machine{m.Name, m.Group, runs})
	}
	// The machine to which most others are alike is what they must be alike to.
	best, most := 0, -1
	for i, m := range with {
		n := 0
		for _, other := range with {
			if unlike(m.Runs[0], other.Runs, c) == "" {
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
		if n == len(with) {
			break
		}
	}
	var alike []Machine
	for _, m := range with {
		if why := unlike(with[best].Runs[0], m.Runs, c); why != "" {
			*out = append(*out, LeftOut{m.Name, fmt.Sprintf("not comparable with %s: %s", with[best].Name, why)})
			continue
		}
		alike = append(alike, m)
	}
	return alike
}

// unlike says why runs did not measure the same thing as another one; "" if they did.
func unlike(a *Run, runs []*Run, c analyze.Comparison) string {
	for _, b := range runs {
		if was, is := guests(a, c.Arm), guests(b, c.Arm); was != is {
			return fmt.Sprintf("the guests of %s are of another size: %s, not %s", c.Arm, is, was)
		}
		if why := compare.Unlike(a.Run, b.Run, c); why != "" {
			return why
		}
	}
	return ""
}

// guests words the size of an arm's guests, whichever CPUs of the host they run on.
func guests(r *Run, arm string) string {
	f := r.Arm(arm).Size
	f.CPUs, f.Devices = nil, nil
	return compare.FlavorText(f)
}
