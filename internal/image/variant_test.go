package image

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
)

func with(t *testing.T, r Recipe, needs ...Needs) Recipe {
	t.Helper()
	v, err := r.With(needs...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWith(t *testing.T) {
	base := Base()
	// What every tree contains makes no variant, and neither does NonFree without packages.
	if v := with(t, base, Needs{Packages: []string{"fio", "dash", "findutils"}, NonFree: true}); v.Key() != base.Key() {
		t.Errorf("%q is another image", v.Name)
	}
	data := Setup{"data", "mkdir /opt/tare/data\n"}
	one := Needs{Packages: []string{"cpio", "bonnie++"}}
	two := Needs{Packages: []string{"bonnie++", "fio"}, Setups: []Setup{data}}
	v := with(t, base, one, two)
	if v.Key() != with(t, base, two, one).Key() || v.Key() != with(t, base, two, one, two).Key() {
		t.Error("the order of the needs makes another image")
	}
	if added := v.Packages[len(base.Packages):]; !slices.Equal(added, []string{"bonnie++", "cpio"}) {
		t.Errorf("added %v", added)
	}
	if v.Name != "data" || with(t, base, one).Name != "bonnie+++cpio" {
		t.Errorf("name %q", v.Name)
	}
	keys := []string{base.Key(), v.Key(), with(t, base, one).Key(), with(t, base, one, Needs{NonFree: true}).Key()}
	data.Script += "touch /opt/tare/data/more\n"
	keys = append(keys, with(t, base, one, Needs{Setups: []Setup{data}}).Key())
	slices.Sort(keys)
	if n := len(slices.Compact(keys)); n != 5 {
		t.Errorf("%d images for five recipes", n)
	}
	if len(Base().Setups) > 0 || len(base.Packages) != len(Base().Packages) {
		t.Error("a variant changes its base")
	}
}

func TestWithRefuses(t *testing.T) {
	for want, n := range map[string]Needs{
		"name of a Debian package": {Packages: []string{"fio,--aptopt=x"}},
		`"./evil.deb"`:             {Packages: []string{"./evil.deb"}},
		"for a setup":              {Setups: []Setup{{"../x", ""}}},
		"differ":                   {Setups: []Setup{{"a", "1"}, {"a", "2"}}},
	} {
		if _, err := Base().With(n); fault.KindOf(err) != fault.Campaign || err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", n, err)
		}
	}
}

// TestVariantIsBootstrapped: the bootstrap gets the packages, components and setups, and runs the
// setups before it ends.
func TestVariantIsBootstrapped(t *testing.T) {
	cache, dir := fakeHost(t,
		`echo "$@" >"$FAKE/args"; cat "$TARE_DEBS"/setup-* >"$FAKE/setups"; cp "$TARE_DEBS/hook" "$FAKE/hook"
`+fakeMmdebstrap)
	r := with(t, testRecipe(), Needs{
		Packages: []string{"netperf"}, NonFree: true,
		Setups: []Setup{{"b", "echo second\n"}, {"a", "echo first\n"}},
	})
	img, err := Build(t.Context(), Options{CacheDir: cache, Recipe: &r})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(filepath.Base(img.Dir), "bookworm-a+b-") {
		t.Errorf("it is in %s", img.Dir)
	}
	for file, wants := range map[string][]string{
		"args":   {",netperf ", "--components=main,contrib,non-free"},
		"setups": {"echo first\necho second\n"},
		"hook":   {`"$TARE_DEBS"/setup-*`},
	} {
		b, err := os.ReadFile(filepath.Join(dir, file))
		for _, want := range wants {
			if err != nil || !strings.Contains(string(b), want) {
				t.Errorf("%s: no %q in %q, %v", file, want, b, err)
			}
		}
	}
	if again, err := OpenRecipe(cache, r); err != nil || again.Key != img.Key {
		t.Errorf("the cache does not have it: %v", err)
	}
}
