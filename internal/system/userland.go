package system

import (
	"os"
	"path/filepath"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/image"
)

// NewUserland prepares an image for guests. It writes the agent's program to dir, which must
// outlive the guests.
func NewUserland(img *image.Image, agentProgram []byte, dir string) (*Userland, error) {
	agent := filepath.Join(dir, "tare-agent")
	if err := os.WriteFile(agent, agentProgram, 0o755); err != nil {
		return nil, fault.Hostf("%w", err)
	}
	initramfs, err := img.Initramfs(agentProgram)
	if err != nil {
		return nil, err
	}
	bare, err := img.InitramfsWith(agentProgram)
	if err != nil {
		return nil, err
	}
	return &Userland{
		Tree: img.Tree, Disk: img.Disk, Kernel: img.Kernel, Vmlinux: img.Vmlinux, Agent: agent,
		Initramfs: initramfs, BareInitramfs: bare,
		InitramfsWith: func(modules ...string) (string, error) { return img.Initramfs(agentProgram, modules...) },
	}, nil
}
