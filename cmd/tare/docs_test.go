package main

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	"github.com/tare-bench/tare/internal/campaign"
)

// The campaigns that the documentation shows are campaigns.
func TestDocumentedCampaigns(t *testing.T) {
	for _, page := range []string{"../../docs/workloads.md", "../../docs/networks.md", "../../README.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("%s shows none", page)
		}
		for _, m := range found {
			if !bytes.Contains(m[1], []byte("arms:")) {
				continue // a part of one
			}
			c, err := campaign.Parse(page, m[1], campaign.Known{Workloads: knownWorkloads()})
			if err != nil {
				t.Error(err)
				continue
			}
			if _, err := recipeOf(c); err != nil {
				t.Error(err)
			}
		}
	}
}
