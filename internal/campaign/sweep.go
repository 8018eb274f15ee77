package campaign

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/strict"
)

// sweep is a parameter of a workload with the values that a file gives it.
type sweep struct {
	name   string
	values []string
}

const (
	valuePattern = `^[A-Za-z0-9][A-Za-z0-9_.+-]{0,39}$` // it becomes part of a name
	// maxSweep bounds the number of workloads of one entry of a file.
	maxSweep = 100
)

var isValue = regexp.MustCompile(valuePattern).MatchString

// paramKey is the key of a workload's parameters: in a file each has one or more
// values, in the canonical form one.
var paramKey = func() strict.Key[Workload] {
	word := strict.Verbatim("a word or a number", anyWord,
		strict.Rule(isValue, "up to 40 letters, digits and any of _.+-"),
		strict.Text, strict.Integer, strict.Float, strict.Bool)
	values := strict.Shorthand(strict.List("values", maxSweep, word), word, func(s string) []string { return []string{s} })
	one := strict.Kind[sweep]{
		Schema: values.Schema,
		Read: func(r *strict.Reader, at strict.Node) (sweep, bool) {
			v, ok := values.Read(r, at)
			return sweep{values: v}, ok
		},
		Write: func(s sweep, full bool) json.RawMessage { return word.Write(s.values[0], full) },
	}
	all := strict.Named("params", 20, one, func(s *sweep) *string { return &s.name })
	k := strict.Field("params", "Parameters of the workload by name; tare workloads lists them. Each of several values, "+
		"such as threads: [1, 4, 16], makes a workload.",
		all, func(w *Workload) *[]sweep { return &w.sweeps })
	k.Write = func(w *Workload, full bool) json.RawMessage {
		if len(w.Params) == 0 {
			return nil
		}
		set := make([]sweep, len(w.Params))
		for i, p := range w.Params {
			set[i] = sweep{p.Name, []string{p.Value}}
		}
		return all.Write(set, full)
	}
	return k
}()

// sizes are the sizes that a file gives a workload.
type sizes struct {
	all    []int64
	listed bool // as a list, whose sizes are in the names of the workloads that it makes
}

// sizeKey is the size of a trial. Each of a list makes a workload.
var sizeKey = func() strict.Key[Workload] {
	one := strict.Whole[int64](1, 1<<60)
	list := strict.List("sizes", maxSweep, one)
	several := strict.Kind[sizes]{
		Schema: list.Schema,
		Read: func(r *strict.Reader, at strict.Node) (sizes, bool) {
			all, ok := list.Read(r, at)
			return sizes{all, true}, ok
		},
	}
	k := strict.Field("size", "Work of one trial, in the workload's own unit. Absent: calibrated so that a trial of the "+
		"baseline lasts trial_time. Each of several sizes, such as [1000, 3000], makes a workload.",
		strict.Shorthand(several, one, func(size int64) sizes { return sizes{all: []int64{size}} }),
		func(w *Workload) *sizes { return &w.sizes })
	k.Write = func(w *Workload, full bool) json.RawMessage {
		switch {
		case w.Size == 0:
			return nil
		case w.Sized:
			return list.Write([]int64{w.Size}, full)
		}
		return one.Write(w.Size, full)
	}
	return k
}()

// series returns the workloads of an entry of a file: one for each combination of its sizes and
// its parameters' values; the values of the last parameter change first.
func (w Workload) series() []Workload {
	given, sweeps := w.sizes, w.sweeps
	w.sizes, w.sweeps = sizes{}, nil
	all := []Workload{w}
	for i, size := range given.all {
		w.Size, w.Sized = size, given.listed
		all = append(all[:i], w)
	}
	for _, s := range sweeps {
		var longer []Workload
		for _, w := range all {
			for _, v := range s.values {
				with := w
				with.Params = append(slices.Clone(w.Params), model.Setting{Name: s.name, Value: v})
				longer = append(longer, with)
			}
		}
		if all = longer; len(all) > maxSweep {
			break // refused by checkParams
		}
	}
	return all
}

// checkParams reports whether the workload has the parameters of w.
func (r *checker) checkParams(path string, w Workload, known Sizes) bool {
	good := true
	for _, s := range w.sweeps {
		said := ""
		for i, v := range s.values {
			if err := known.CheckParam(s.name, v); err != nil {
				good = false
				if msg := err.Error(); msg != said { // an unknown name is reported once
					said = msg
					r.Fail(fmt.Sprintf("%s.params.%s[%d]", path, s.name, i), "%s", msg) // or at the name, for a plain value
				}
			}
		}
	}
	return good
}
