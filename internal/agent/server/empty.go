package server

import "os"

// Empty removes what is in the working directory, but not mke2fs's own directory.
func Empty() error {
	entries, err := os.ReadDir(".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "lost+found" {
			continue
		}
		if err := os.RemoveAll(e.Name()); err != nil {
			return err
		}
	}
	return nil
}
