// Package container opens container images wherever their users keep them, and unpacks them.
//
// An image is named as in skopeo:
//
//	oci:DIR[:TAG]               a directory with the OCI layout
//	oci-archive:FILE[:TAG]      the same in a tar file, as of podman save --format oci-archive
//	docker-archive:FILE[:TAG]   a tar file of docker save
//	docker-daemon:NAME          the local Docker
//	containers-storage:NAME     the local Podman
//	containerd:NAME             the local containerd, by ctr
//	docker://NAME               a registry, with the credentials of the user's docker login or podman login
//
// A name without a transport is that of a directory or file if there is one, otherwise of an image in the local stores.
// Only docker:// leads to the network. Nothing in an image is trusted.
package container

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/tare-bench/tare/internal/fault"
)

// Config is what an image says about its program.
type Config struct {
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
	Env        []string `json:"env,omitempty"`     // NAME=VALUE
	User       string   `json:"user,omitempty"`    // as in the image: names or numbers, USER[:GROUP]; "": root
	Dir        string   `json:"dir,omitempty"`     // working directory; "": /
	Volumes    []string `json:"volumes,omitempty"` // directories to which the program writes, sorted
	Ports      []string `json:"ports,omitempty"`   // such as 8080/tcp, sorted
}

// Image is a container image for this machine's architecture.
type Image struct {
	// ID is the digest of the image's configuration, "sha256:…", as docker images prints it. The configuration names
	// the content of each layer, so images with the same ID are equal, however their layers are compressed.
	ID     string
	Config Config

	layers  []v1.Layer
	content []v1.Hash // of the layers' tar files, from the configuration
	// What was copied to read the image is in the directory temp; "": nothing was.
	temp   string
	remove func() error
}

// Open opens the image that ref names. Copies that a local store or an archive makes necessary are in a new directory
// below tempDir until Close. Errors are of the kind fault.Campaign: the name is the user's.
func Open(ctx context.Context, ref, tempDir string) (*Image, error) {
	o := opener{tempDir: tempDir}
	found, err := o.open(ctx, ref)
	if err == nil {
		err = o.image.read(found)
	}
	if err != nil {
		err = errors.Join(err, o.image.Close())
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fault.Campaignf("image %s: %w", ref, err)
	}
	return &o.image, nil
}

// Close removes the copies that were made to read the image.
func (i *Image) Close() error {
	if i.temp == "" {
		return nil
	}
	i.temp = ""
	return i.remove()
}

// maxLayers bounds the layers of an image: Docker and containerd allow 127.
const maxLayers = 1000

// read reads the configuration, and checks that the image can run here.
func (i *Image) read(found v1.Image) error {
	raw, err := found.RawConfigFile()
	if err != nil {
		return err
	}
	id, size, err := v1.SHA256(strings.NewReader(string(raw)))
	if err != nil {
		return err
	}
	if said, err := found.ConfigName(); err == nil && said != id {
		return fault.Campaignf("it is damaged: its configuration of %d bytes has the digest %s instead of %s", size, id, said)
	}
	var file v1.ConfigFile
	if err := json.Unmarshal(raw, &file); err != nil {
		return fault.Campaignf("its configuration cannot be read: %w", err)
	}
	if file.OS != "" && file.OS != "linux" {
		return fault.Campaignf("it is for %s; tare's guests run Linux", file.OS)
	}
	if file.Architecture != "" && file.Architecture != runtime.GOARCH {
		return fault.WithRemedy(fault.Campaignf("it is for %s, and this machine is %s", file.Architecture, runtime.GOARCH),
			"take the image for linux/%s", runtime.GOARCH)
	}
	if i.layers, err = found.Layers(); err != nil {
		return err
	}
	i.content = file.RootFS.DiffIDs
	if len(i.layers) != len(i.content) || len(i.layers) > maxLayers {
		return fault.Campaignf("it has %d layers, and its configuration names %d (at most %d)", len(i.layers),
			len(i.content), maxLayers)
	}
	i.ID = id.String()
	i.Config = Config{Entrypoint: file.Config.Entrypoint, Cmd: file.Config.Cmd, Env: file.Config.Env,
		User: file.Config.User, Dir: file.Config.WorkingDir}
	for v := range file.Config.Volumes {
		i.Config.Volumes = append(i.Config.Volumes, filepath.Clean("/"+v))
	}
	for p := range file.Config.ExposedPorts {
		i.Config.Ports = append(i.Config.Ports, p)
	}
	slices.Sort(i.Config.Volumes)
	slices.Sort(i.Config.Ports)
	return nil
}
