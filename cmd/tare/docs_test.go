package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/experiment"
)

// The campaigns in the documentation are valid.
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
			checkCampaign(t, page, m[1])
		}
	}
}

// The campaign files in campaigns/ are valid, including their options.
func TestShippedCampaigns(t *testing.T) {
	files, err := filepath.Glob("../../campaigns/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checkCampaign(t, file, text)
	}
}

func checkCampaign(t *testing.T, file string, text []byte) {
	t.Helper()
	c, err := campaign.Parse(file, text, experiment.KnownAnywhere())
	if err == nil {
		_, err = experiment.RecipeOf(c)
	}
	if err != nil {
		t.Error(err)
	}
}
