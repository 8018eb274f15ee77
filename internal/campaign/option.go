package campaign

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/strict"
)

// Option is an option of a system that an arm may set.
type Option struct {
	Name   string
	Values []string // the only ones allowed; nil: any
	// UpToVCPUs: the value is a whole number from 1 to the guest's vcpus.
	UpToVCPUs bool
}

// settingKind reads the value of an option; its name is the key before it.
var settingKind = func() strict.Kind[model.Setting] {
	word := strict.Verbatim("a word or a number", anyWord,
		func(s string) error {
			if strings.ContainsAny(s, "\n\x00") {
				return fmt.Errorf("it has more than one line")
			}
			return nil
		}, strict.Text, strict.Integer, strict.Float, strict.Bool)
	return strict.Kind[model.Setting]{
		Schema: word.Schema,
		Read: func(r *strict.Reader, at strict.Node) (model.Setting, bool) {
			v, ok := word.Read(r, at)
			return model.Setting{Value: v}, ok
		},
		Write: func(s model.Setting, full bool) json.RawMessage { return word.Write(s.Value, full) },
	}
}()

// checkOptions checks an arm's target and options against those of its system.
func (r *checker) checkOptions(path string, a *Arm, limits Limits) {
	switch {
	case limits.Target == "" && a.Target != "":
		r.Fail(path+".target", "arm %q: tare creates the guests of %s itself, so there is no target; remove it", a.Name,
			a.System)
	case limits.Target != "" && a.Target == "":
		r.Fail(path, "arm %q: %s needs a target: %s", a.Name, a.System, limits.Target)
	case a.Target != "" && limits.CheckTarget != nil:
		if err := limits.CheckTarget(a.Target); err != nil {
			r.Fail(path+".target", "arm %q: %v", a.Name, err)
		}
	}
	names := make([]string, len(limits.Options))
	for i, o := range limits.Options {
		names[i] = o.Name
	}
	good := true
	for _, s := range a.Options {
		at := path + ".options." + s.Name
		i := slices.Index(names, s.Name)
		if i < 0 {
			have := "it has none"
			if len(names) > 0 {
				have = "it has " + strings.Join(names, ", ")
			}
			r.FailWord(at, s.Name, names, "%s has no option %s; %s", a.System, strict.Quote(s.Name), have)
			good = false
			continue
		}
		if values := limits.Options[i].Values; values != nil && !slices.Contains(values, s.Value) {
			r.FailWord(at, s.Value, values, "option %s of %s must be one of %s, found %s", s.Name, a.System,
				strings.Join(values, ", "), strict.Quote(s.Value))
			good = false
		}
	}
	if good && limits.CheckOptions != nil {
		if err := limits.CheckOptions(model.Values(a.Options)); err != nil {
			r.Fail(r.at(path, "options"), "arm %q: %v", a.Name, err)
		}
	}
}

// checkCounts checks the options of an arm that count something of which there can be one for each virtual CPU.
func (r *checker) checkCounts(path string, a Arm, f model.Flavor, limits Limits) {
	for _, s := range a.Options {
		i := slices.IndexFunc(limits.Options, func(o Option) bool { return o.Name == s.Name })
		if i < 0 || !limits.Options[i].UpToVCPUs {
			continue
		}
		if n, err := strconv.Atoi(s.Value); err != nil || !isNumber(s.Value) || n < 1 || n > f.VCPUs {
			r.Fail(r.at(path, "options."+s.Name), "arm %q: option %s of %s must be a number from 1 to the vcpus of flavor %q, "+
				"which has %d, found %s", a.Name, s.Name, a.System, f.Name, f.VCPUs, strict.Quote(s.Value))
		}
	}
}
