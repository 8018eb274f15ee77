package paper

import (
	_ "embed"
	"slices"
	"sync"

	"github.com/goccy/go-yaml"
)

// Workload is a program that one of the articles used for measurements, as the
// article describes it.
type Workload struct {
	// Doc is a letter for the article: A, L, H, C or P; Article is its name.
	Doc       string   `yaml:"doc" json:"doc"`
	Article   string   `yaml:"-" json:"article"`
	ID        string   `yaml:"id" json:"id"` // "A1-cpu", unique
	Tool      string   `yaml:"tool" json:"tool"`
	Version   string   `yaml:"version" json:"version,omitempty"` // "": not printed
	Cmd       string   `yaml:"cmd" json:"cmd"`                   // as printed, or what is known of it; "": none
	Measures  string   `yaml:"measures" json:"measures"`
	Metric    string   `yaml:"metric" json:"metric"`
	Unit      string   `yaml:"unit" json:"unit"`
	Better    string   `yaml:"better" json:"better"`
	Repeats   int      `yaml:"n" json:"repeats,omitempty"` // 0: not printed
	NNote     string   `yaml:"n_note" json:"repeats_note,omitempty"`
	Scenarios []string `yaml:"scenarios" json:"scenarios"`
	Stats     []string `yaml:"stats" json:"statistics"`
	Baseline  string   `yaml:"host_baseline" json:"host_baseline,omitempty"`
	Note      string   `yaml:"note" json:"note,omitempty"`
}

// docs are the articles by their letters in workload ids.
var docs = map[string]string{
	"A": "abclinuxu-xen-vs-kvm",
	"L": "latgrid-xen-veiktspeja",
	"H": "habr-truevds-xen-disk",
	"C": "yunweiku-xen-kvm-lxc",
	"P": "platov-vmware-vs-colinux",
}

//go:embed workloads.yaml
var workloadsFile []byte

var workloads = sync.OnceValue(func() []Workload {
	var list []Workload
	if err := yaml.UnmarshalWithOptions(workloadsFile, &list, yaml.Strict()); err != nil {
		panic(err) // the file is part of tare and tested
	}
	for i := range list {
		list[i].Article = docs[list[i].Doc]
	}
	return list
})

// Workloads returns the articles' 33 workloads, in the order of the articles and
// their sections.
func Workloads() []Workload { return slices.Clone(workloads()) }
