package jsonraw

import "testing"

func TestAtFollowsEachPartOfAPointer(t *testing.T) {
	const raw = `{"a":{"":7},"b":[1,{"x/y~":2}],"":{"":3}}`
	for pointer, want := range map[string]string{
		"": raw, "/a": `{"":7}`, "/a/": "7", "/b/0": "1", "/b/1/x~1y~0": "2", "/": `{"":3}`, "//": "3",
		"/c": "", "/a/b": "", "/b/2": "", "/b/x": "", "/b/-1": "", "/b/0/x": "",
	} {
		value, ok := At([]byte(raw), pointer)
		if string(value) != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", pointer, value, ok)
		}
	}
}

func TestPointerEscapesNames(t *testing.T) {
	for _, c := range []struct {
		at    string
		names []string
		want  string
	}{
		{"", nil, ""},
		{"", []string{"a"}, "/a"},
		{"", []string{""}, "/"},
		{"", []string{"a/b~c"}, "/a~1b~0c"},
		{"/a~1b", []string{"c", "~1"}, "/a~1b/c/~01"},
	} {
		if got := Pointer(c.at, c.names...); got != c.want {
			t.Errorf("%q with %q: got %q, want %q", c.at, c.names, got, c.want)
		}
	}
}
