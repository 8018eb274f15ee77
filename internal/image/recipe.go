package image

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"runtime"
)

// formatVersion is the version of the layout of an image directory and of what the build adds to
// the recipe. Increase it with every change that old images lack.
const formatVersion = 1

// A Recipe defines the content of an image. Equal recipes have the same key and share one image;
// [Recipe.With] makes variants of [Base] with more content.
type Recipe struct {
	// Name distinguishes variants for people; it is part of the directory's name.
	Name string `json:"name"`
	// Suite is the Debian release.
	Suite string `json:"suite"`
	// Arch is Debian's name for the architecture.
	Arch string `json:"arch"`
	// Packages are installed in the tree, with their dependencies.
	Packages []string `json:"packages"`
	// Kernel is the package whose newest kernel the guests boot; it is unpacked beside the tree
	// and never installed in it. "": none, in an image that no guest runs.
	Kernel string `json:"kernel"`
	// Source is the package of the kernel source that the tar, gzip and build workloads unpack,
	// "" for none, and Pieces is the number of archives that it is split into.
	Source string `json:"source"`
	Pieces int    `json:"pieces"`
	// Dirs are empty directories to make, in which programs of the packages write.
	Dirs []string `json:"dirs,omitempty"`
	// Exclude and Include are dpkg path patterns: documentation and translations are omitted,
	// copyright files are kept.
	Exclude []string `json:"exclude"`
	Include []string `json:"include"`
	// NonFree also allows packages from contrib and non-free.
	NonFree bool `json:"non_free,omitempty"`
	// Setups run after the packages are installed, in this order.
	Setups []Setup `json:"setups,omitempty"`
	// OwnBuilds are copied into the tree, at their GuestPath.
	OwnBuilds []OwnBuild `json:"own_builds,omitempty"`
	// Programs are tare's own, in ProgramDir of the tree.
	Programs []Program `json:"programs,omitempty"`
	// Container is the container image that is the tree; nil: Debian's packages make the tree.
	Container *Container `json:"container,omitempty"`
}

// Base is the recipe of the userland that all workloads share.
func Base() Recipe {
	arch := runtime.GOARCH // Debian and Go agree on amd64 and arm64
	return Recipe{
		Name:  "base",
		Suite: "bookworm",
		Arch:  arch,
		Packages: []string{
			// The workloads themselves.
			"fio", "openssl", "stress-ng", "sysbench",
			// Programs used by them and by the articles' command lines.
			"bash", "coreutils", "gzip", "procps", "tar", "time", "util-linux", "xz-utils",
			// To create and mount data volumes inside guests.
			"e2fsprogs", "kmod", "xfsprogs",
			// Network workloads; without netbase, NPtcp and others fail on "tcp".
			"iproute2", "netbase",
		},
		Kernel: "linux-image-cloud-" + arch, // without drivers for hardware, so small and quick to boot
		Source: "linux-source-6.1",
		Pieces: 256,
		Exclude: []string{
			"/usr/share/doc/*", "/usr/share/info/*", "/usr/share/lintian/*",
			"/usr/share/locale/*", "/usr/share/man/*",
		},
		Include: []string{"/usr/share/doc/*/copyright", "/usr/share/locale/locale.alias"},
	}
}

// GenericKernel is r with the kernel that Debian has for all machines, with drivers of real hardware.
func (r Recipe) GenericKernel() Recipe {
	r.Kernel = "linux-image-" + r.Arch
	return r
}

// Tools is the recipe of the tools tree: programs of systems, for hosts that lack them.
func Tools() Recipe {
	r := Base()
	r.Name, r.Kernel, r.Source, r.Pieces = "tools", "", "", 0
	r.Packages = []string{
		"bubblewrap", "crun", "lxc", "runc", "systemd-container",
		"containerd", "docker.io", "podman",
		"libvirt-daemon-driver-lxc", "libvirt-daemon-driver-qemu", "libvirt-daemon-system",
		// In a domain of libvirt's that the tests make, whose root is this tree.
		"openssh-server",
		// To make data volumes and networks, and to start what is above.
		"btrfs-progs", "e2fsprogs", "iproute2", "kmod", "nftables", "procps", "qemu-utils", "util-linux", "xfsprogs",
	}
	r.Dirs = []string{"/var/log/libvirt"}
	switch r.Arch {
	case "amd64":
		r.Packages = append(r.Packages, "qemu-system-x86", "user-mode-linux")
	case "arm64":
		r.Packages = append(r.Packages, "qemu-system-arm")
	}
	return r
}

// Key identifies the recipe's image: the SHA-256, in hex, of the recipe and the format version.
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
