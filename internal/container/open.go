package container

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/files"
)

// platform is this machine's.
var platform = v1.Platform{OS: "linux", Architecture: runtime.GOARCH}

// opener finds an image.
type opener struct {
	tempDir string
	image   Image
}

// dir is the directory for copies.
func (o *opener) dir() (_ string, err error) {
	if o.image.temp == "" {
		o.image.temp, o.image.remove, err = files.Scratch(o.tempDir)
	}
	return o.image.temp, err
}

// open finds the image by its name.
func (o *opener) open(ctx context.Context, ref string) (v1.Image, error) {
	transport, rest, _ := strings.Cut(ref, ":")
	switch transport {
	case "oci":
		path, tag := splitTag(rest)
		return fromLayout(path, tag)
	case "oci-archive":
		path, tag := splitTag(rest)
		return o.fromOCIArchive(ctx, path, tag)
	case "docker-archive":
		path, tag := splitTag(rest)
		return fromDockerArchive(path, tag)
	case "docker":
		if reg, ok := strings.CutPrefix(rest, "//"); ok {
			return fromRegistry(ctx, reg)
		}
	}
	for _, s := range stores {
		if transport == s.transport {
			return o.fromStore(ctx, s, rest)
		}
	}
	if st, err := os.Stat(ref); err == nil {
		return o.fromPath(ctx, ref, st.IsDir())
	}
	return o.fromAnyStore(ctx, ref)
}

// splitTag cuts a tag from a path that does not exist with it. A tag may have colons, as in app:1.
func splitTag(path string) (file, tag string) {
	for at := len(path); at > 0; at = strings.LastIndexByte(path[:at], ':') {
		if _, err := os.Stat(path[:at]); err == nil {
			return path[:at], strings.TrimPrefix(path[at:], ":")
		}
	}
	return path, ""
}

// fromPath opens a directory or a file, whatever of both kinds of archive it is.
func (o *opener) fromPath(ctx context.Context, path string, dir bool) (v1.Image, error) {
	if dir {
		return fromLayout(path, "")
	}
	img, err := fromDockerArchive(path, "")
	if err == nil {
		return img, nil
	}
	img, other := o.fromOCIArchive(ctx, path, "")
	if other != nil {
		return nil, fmt.Errorf("it is no archive of docker save (%w) and no archive with an OCI layout (%w)", err, other)
	}
	return img, nil
}

func fromDockerArchive(path, tag string) (v1.Image, error) {
	var named *name.Tag
	if tag != "" {
		t, err := name.NewTag(tag)
		if err != nil {
			return nil, err
		}
		named = &t
	}
	return tarball.ImageFromPath(path, named)
}

// maxArchive bounds an archive that is copied, with slack for the file system.
const maxArchive = 64 << 30

// fromOCIArchive unpacks the layout of an archive to read it.
func (o *opener) fromOCIArchive(ctx context.Context, path, tag string) (v1.Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dir, err := o.dir()
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir) // names of the archive cannot lead out of it
	if err != nil {
		return nil, err
	}
	defer root.Close()
	r := tar.NewReader(io.LimitReader(f, maxArchive))
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return fromLayout(dir, tag)
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg { // a layout has nothing but files and their directories
			continue
		}
		if err := copyFile(root, filepath.Clean(h.Name), r); err != nil {
			return nil, err
		}
	}
}

func copyFile(root *os.Root, name string, r io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := root.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// fromLayout opens the only image of a layout for this machine, or the one with the tag.
func fromLayout(dir, tag string) (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Campaignf("%s has no OCI layout: %w", dir, err)
	}
	if err != nil {
		return nil, err
	}
	return fromIndex(index, tag, 0)
}

// annotation is where a layout has the names of its images.
const annotation = "org.opencontainers.image.ref.name"

// fromIndex finds the image for this machine in an index, which may contain indexes.
func fromIndex(index v1.ImageIndex, tag string, depth int) (v1.Image, error) {
	m, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var names, others []string
	var found []v1.Image
	for _, d := range m.Manifests {
		named := d.Annotations[annotation]
		if tag != "" && named != tag && !strings.HasSuffix(named, ":"+tag) {
			names = append(names, named)
			continue
		}
		switch {
		case d.MediaType.IsIndex() && depth < 3:
			inner, err := index.ImageIndex(d.Digest)
			if err != nil {
				return nil, err
			}
			img, err := fromIndex(inner, "", depth+1)
			if err != nil {
				return nil, err
			}
			found = append(found, img)
		case !d.MediaType.IsImage():
		case d.Platform != nil && !match.Platforms(platform)(d):
			others = append(others, d.Platform.String())
		default:
			img, err := index.Image(d.Digest)
			if err != nil {
				return nil, err
			}
			found = append(found, img)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, fault.WithRemedy(fault.Campaignf("it contains %d images for this machine", len(found)),
			"add the tag of one, as in oci:DIR:TAG")
	case len(others) > 0:
		return nil, fault.Campaignf("it has no image for %s, only for %s", platform, strings.Join(others, ", "))
	case tag != "":
		return nil, fault.Campaignf("it has no image with the tag %q (it has %q)", tag, names)
	}
	return nil, fault.Campaignf("it contains no image")
}

// fromRegistry opens an image of a registry. The layers are read when the image is unpacked.
func fromRegistry(ctx context.Context, ref string) (v1.Image, error) {
	r, err := name.ParseReference(ref)
	if err != nil {
		return nil, err
	}
	return remote.Image(r, remote.WithContext(ctx), remote.WithPlatform(platform),
		remote.WithAuthFromKeychain(authn.DefaultKeychain))
}

// store is a local store of images: the program that asks it, the arguments that print something if it has an image,
// and those that write the image to a file.
type store struct {
	transport, program string
	has                func(image string) []string
	save               func(image, file string) []string
	docker             bool // the file is like that of docker save
}

var stores = []store{
	{transport: "docker-daemon", program: "docker", docker: true,
		has:  func(image string) []string { return []string{"image", "inspect", "--format", "{{.Id}}", "--", image} },
		save: func(image, file string) []string { return []string{"save", "-o", file, "--", image} }},
	{transport: "containers-storage", program: "podman",
		has: func(image string) []string { return []string{"image", "inspect", "--format", "{{.Id}}", "--", image} },
		save: func(image, file string) []string {
			return []string{"save", "--quiet", "--format", "oci-archive", "-o", file, "--", image}
		}},
	{transport: "containerd", program: "ctr",
		has: func(image string) []string { return []string{"images", "ls", "--quiet", "name==" + image} },
		save: func(image, file string) []string {
			return []string{"images", "export", "--platform", platform.String(), "--", file, image}
		}},
}

// fromStore copies an image out of a store.
func (o *opener) fromStore(ctx context.Context, s store, ref string) (v1.Image, error) {
	dir, err := o.dir()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "saved.tar")
	if _, err := s.run(ctx, s.save(ref, file)); err != nil {
		return nil, err
	}
	if s.docker {
		return fromDockerArchive(file, "")
	}
	return o.fromOCIArchive(ctx, file, "")
}

// fromAnyStore looks for an image in the local stores, in a fixed order.
func (o *opener) fromAnyStore(ctx context.Context, ref string) (v1.Image, error) {
	var asked []string
	for _, s := range stores {
		if _, err := exec.LookPath(s.program); err != nil {
			continue
		}
		asked = append(asked, s.program)
		if said, err := s.run(ctx, s.has(ref)); err == nil && said != "" {
			return o.fromStore(ctx, s, ref)
		}
	}
	where := "this host has none of docker, podman and ctr"
	if len(asked) > 0 {
		where = strings.Join(asked, " and ") + " do not have it"
	}
	return nil, fault.WithRemedy(fault.Campaignf("there is no such file or directory, and %s", where),
		"to take it from a registry: docker://%s", ref)
}

// run runs the store's program, and returns what it prints.
func (s store) run(ctx context.Context, args []string) (string, error) {
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %s", s.program, args[0], cmp.Or(strings.TrimSpace(stderr.String()), err.Error()))
	}
	return strings.TrimSpace(string(out)), nil
}
