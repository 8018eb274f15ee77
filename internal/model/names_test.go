package model

import (
	"reflect"
	"testing"
)

func TestArmName(t *testing.T) {
	for want, name := range map[string]ArmName{
		"lxc": {"lxc", Solo}, "lxc@four": {"lxc", "four"}, "native-control@noisy": {"native-control", "noisy"},
	} {
		if got := name.String(); got != want {
			t.Errorf("%+v is written %s, not %s", name, got, want)
		}
	}
}

func TestSeries(t *testing.T) {
	for text, want := range map[string]Series{
		"cpu":                     {"cpu", nil},
		"cpu[threads=4]":          {"cpu", []Setting{{"threads", "4"}}},
		"fio[mode=a,b,bs=4k]":     {"fio", []Setting{{"mode", "a,b"}, {"bs", "4k"}}},
		"web[path=/?a=b,c=]":      {"web", []Setting{{"path", "/?a=b"}, {"c", ""}}},
		"web[path=/?a,=b]":        {"web", []Setting{{"path", "/?a,=b"}}},
		"mine[list=[1],threads=]": {"mine", []Setting{{"list", "[1]"}, {"threads", ""}}},
	} {
		if got := ParseSeries(text); !reflect.DeepEqual(got, want) || got.String() != text {
			t.Errorf("%s is read as %+v and written %s", text, got, got)
		}
	}
}

func TestParseSettings(t *testing.T) {
	want := []Setting{{"vcpus", "2"}, {"cpuset", "0,1"}}
	if got, ok := ParseSettings("vcpus=2, cpuset=0,1"); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, ok)
	}
	for _, bad := range []string{"", "vcpus", "=2", ",vcpus=2"} {
		if got, ok := ParseSettings(bad); ok {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

func TestPoint(t *testing.T) {
	for text, want := range map[string]Point{
		"rate[length=65536B]":     {"rate", "length", 65536, "B"},
		"random read[record=0.5]": {"random read", "record", 0.5, ""},
	} {
		if got, ok := ParsePoint(text); !ok || got != want || got.String() != text {
			t.Errorf("%s is read as %+v (%v) and written %s", text, got, ok, got)
		}
	}
	for _, other := range []string{"rate", "rate[length]", "rate[length=B]", "rate[length=0B]", "rate[length=007B]",
		"rate[length=1.2.3B]", "rate[length=64B] ", "[length=64B]", "rate[a=1B][b=2B]", "rate[length=-3B]"} {
		if got, ok := ParsePoint(other); ok {
			t.Errorf("%q is read as the point %+v", other, got)
		}
	}
}
