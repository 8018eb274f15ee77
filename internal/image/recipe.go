package image

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"runtime"
)

// formatVersion is the layout of an image directory and of what the build puts
// into it beyond the recipe. Raise it with every change that old images lack.
const formatVersion = 1

// A Recipe says what an image is made of. Two equal recipes have the same key
// and share one image; [Recipe.With] makes variants of [Base] with more in them.
type Recipe struct {
	// Name tells variants apart for people; it is part of the directory name.
	Name string `json:"name"`
	// Suite is the Debian release.
	Suite string `json:"suite"`
	// Arch is Debian's name of the architecture.
	Arch string `json:"arch"`
	// Packages are installed in the tree, with what they depend on.
	Packages []string `json:"packages"`
	// Kernel is the package whose newest kernel the guests boot; it is taken
	// apart beside the tree and never installed in it.
	Kernel string `json:"kernel"`
	// Source is the package of the kernel source that tar, gzip and build
	// workloads unpack, "" for none, and Pieces the number of archives it is
	// cut into.
	Source string `json:"source"`
	Pieces int    `json:"pieces"`
	// Exclude and Include are dpkg path patterns: documentation and
	// translations are left out, copyright files stay.
	Exclude []string `json:"exclude"`
	Include []string `json:"include"`
	// NonFree takes packages from contrib and non-free too.
	NonFree bool `json:"non_free,omitempty"`
	// Setups are run when the packages are installed, in this order.
	Setups []Setup `json:"setups,omitempty"`
	// OwnBuilds are copied into the tree, at their GuestPath.
	OwnBuilds []OwnBuild `json:"own_builds,omitempty"`
}

// Base is the recipe of the one userland that all workloads share.
func Base() Recipe {
	arch := runtime.GOARCH // Debian and Go agree on amd64 and arm64
	return Recipe{
		Name:  "base",
		Suite: "bookworm",
		Arch:  arch,
		Packages: []string{
			// The workloads themselves.
			"fio", "openssl", "stress-ng", "sysbench",
			// What they and the articles' command lines are written with.
			"bash", "coreutils", "gzip", "procps", "tar", "time", "util-linux", "xz-utils",
			// Data volumes: made and mounted inside of guests.
			"e2fsprogs", "kmod", "xfsprogs",
			// Network workloads; without netbase, NPtcp and others fail on "tcp".
			"iproute2", "netbase",
		},
		Kernel: "linux-image-cloud-" + arch,
		Source: "linux-source-6.1",
		Pieces: 256,
		Exclude: []string{
			"/usr/share/doc/*", "/usr/share/info/*", "/usr/share/lintian/*",
			"/usr/share/locale/*", "/usr/share/man/*",
		},
		Include: []string{"/usr/share/doc/*/copyright", "/usr/share/locale/locale.alias"},
	}
}

// Key identifies the image that the recipe makes: the SHA-256, in hex, of the
// recipe and the format version.
func (r Recipe) Key() string {
	b, err := json.Marshal(struct {
		Format int    `json:"format"`
		Recipe Recipe `json:"recipe"`
	}{formatVersion, r})
	if err != nil {
		panic(err) // a struct of strings always marshals
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// dirName is the name of the image's directory in the cache.
func (r Recipe) dirName() string { return r.Suite + "-" + r.Name + "-" + r.Key()[:12] }
