package campaign

import (
	"strings"
	"testing"
)

// TestContainer: a campaign with a container image has commands of its own, and nothing that needs programs of tare's.
func TestContainer(t *testing.T) {
	read := func(image, rest string) (*Campaign, error) {
		return Parse("c.yaml", []byte("name: c\nimage: {"+image+"}\narms: [native, lxc]\n"+rest), lab())
	}
	const own = "workloads: [{name: app, command: [/app]}]\n"
	id := "sha256:" + strings.Repeat("0a", 32)
	c, err := read("oci: 'app:1', id: '"+id+"'", own)
	if err != nil || c.Image.OCI != "app:1" || c.Image.ID != id {
		t.Fatalf("%+v, %v", c, err)
	}
	for _, c := range []struct{ image, rest, want string }{
		{"id: '" + id + "'", own, "name the image with oci"},
		{"oci: app, id: latest", own, "64 hexadecimal digits"},
		{"oci: app, packages: [zstd]", own, "packages, also_for and non_free"},
		{"oci: app, kernel: generic", own, "boot the kernel cloud"},
		{"oci: app", "workloads: [openssl-enc]\n", "give a command"},
		{"oci: app", "workloads: [{name: app, command: [/app], packages: [zstd]}]\n", "nothing can be added"},
		{"oci: app", own + "attacks: [memory]\n", "attacks"},
		{"oci: app", own + "scenarios: [solo, {name: beside, neighbours: [cpu]}]\n", "neighbours"},
	} {
		if _, err := read(c.image, c.rest); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("image {%s}, %s: %v, want %q", c.image, c.rest, err, c.want)
		}
	}
}
