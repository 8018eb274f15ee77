package image

import (
	"os"
	"testing"
)

// TestLive builds the real image, or opens the one in the cache, and checks it.
func TestLive(t *testing.T) {
	if os.Getenv("TARE_LIVE") != "1" {
		t.Skip("set TARE_LIVE=1 to build the real image (root, a Debian mirror, some minutes)")
	}
	cache := "/var/lib/tare/images"
	if dir := os.Getenv("TARE_IMAGES"); dir != "" {
		cache = dir
	}
	img, err := Build(t.Context(), Options{CacheDir: cache, Step: func(s string) { t.Log(s) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := verify(img); err != nil {
		t.Fatal(err)
	}
	if missing := img.MissingTools([]string{"fio", "openssl", "stress-ng", "sysbench", "tar", "gzip", "time", "mkfs.xfs",
		"ip", "modprobe"}); missing != nil {
		t.Errorf("the tree lacks %v", missing)
	}
	pkgs, err := readPackages(img.Tree, false)
	if err != nil || pkgs["fio"] == "" || len(pkgs) != len(img.Manifest.Packages) {
		t.Errorf("packages: %v, %d of them, fio %q", err, len(pkgs), pkgs["fio"])
	}
	path, err := img.Initramfs([]byte("not a real agent"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := img.Initramfs([]byte("not a real agent"))
	if err != nil || again != path {
		t.Errorf("a second call made %s (%v), not %s", again, err, path)
	}
	t.Logf("%s, kernel %s, initramfs %s", img.Dir, img.KernelVersion, path)
}
