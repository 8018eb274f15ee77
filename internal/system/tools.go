package system

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/image"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/tools"
)

// UseTools makes the programs of the tools tree available to drivers, unless it is not built or they are already.
// images is the directory of images, stateDir that of tare's state, and dir the sandbox's private directory. It must be
// called inside a sandbox.
func UseTools(images, stateDir, dir string) error {
	if tools.Used() {
		return nil
	}
	img, err := image.OpenRecipe(images, image.Tools())
	if errors.Is(err, image.ErrNotBuilt) {
		return nil
	}
	if err == nil {
		err = img.Unchanged()
	}
	if err != nil {
		return err
	}
	scratch := filepath.Join(dir, "tools")
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return fault.Hostf("%w", err)
	}
	return tools.Use(img.Tree, scratch, stateDir, images, dir)
}

// Program finds a program for guests, of the host's source of programs, and asks it for its version. The error says how
// to get the program.
func (h *Host) Program(ctx context.Context, name string) (p tools.Program, version string, err error) {
	if p, err = tools.Find(name, h.Programs); err != nil {
		return p, "", err
	}
	version, err = p.Version(ctx)
	if err == nil && version != "" {
		return p, version, nil
	}
	if err == nil {
		err = fault.Hostf("%s --version prints nothing: it is not a working %s", p.Path, name)
	} else {
		err = fault.Hostf("%s --version: %w", p.Path, err)
	}
	if p.Tree == nil {
		err = fault.WithRemedy(err, "repair it, or use that of the tools tree: TARE_PROGRAMS=%s", model.ProgramsTools)
	}
	return p, "", err
}

// NoProgram is the status of a system one of whose programs cannot be had, for this reason.
func NoProgram(err error) Status {
	why, _, _ := strings.Cut(err.Error(), "\n")
	return Unusable(why, fault.RemedyOf(err))
}
