package campaign

import "regexp"

// digestPattern is what identifies a container image.
const digestPattern = `^sha256:[0-9a-f]{64}$`

var isDigest = regexp.MustCompile(digestPattern).MatchString

// checkContainer refuses what a campaign with a container image as userland cannot have: whatever needs programs that
// only tare's own image has.
func (r *checker) checkContainer(c *Campaign) {
	if c.Image.ID != "" && !isDigest(c.Image.ID) {
		r.Fail("image.id", "image id %q is not sha256: and 64 hexadecimal digits", c.Image.ID)
	}
	if c.Image.OCI == "" {
		if c.Image.ID != "" {
			r.Fail("image.id", "id is the identity of a container image; name the image with oci")
		}
		return
	}
	if len(c.Image.Packages) > 0 || len(c.Image.AlsoFor) > 0 || c.Image.NonFree {
		r.Fail("image", "a container image is used as it is: packages, also_for and non_free are for Debian's packages")
	}
	if c.Image.Kernel == KernelGeneric {
		r.Fail("image.kernel", "machines of a container image boot the kernel cloud")
	}
	for _, w := range c.Workloads {
		switch {
		case !w.Custom() && w.Name != "start":
			r.Fail("workloads", "workload %q needs programs of tare's image; with a container image, give a command", w.Name)
		case len(w.Own.Packages) > 0 || w.Build != "" || len(w.Own.Files) > 0:
			r.Fail("workloads", "workload %q: nothing can be added to a container image: no packages, build or files", w.Name)
		}
	}
	for _, s := range c.Scenarios {
		if len(s.Neighbours) > 0 {
			r.Fail("scenarios", "scenario %q: neighbours need programs of tare's image, which a container image does not have",
				s.Name)
		}
	}
	if len(c.Attacks) > 0 {
		r.Fail("attacks", "attacks need programs of tare's image, which a container image does not have")
	}
}
