package gateway

import (
	"strings"
	"testing"
)

func TestShownName(t *testing.T) {
	none := func(string) bool { return false }
	for _, c := range []struct{ prefix, name, want string }{
		{"fs", "read", "fs__read"},
		{"", "read", "read"},
		{"fs", "read_file", "fs__read_file"},
		{"fs", "a__b", "fs__a__b"},
		{"fs", "_x", "fs___x"},
		{"fs", "a.b", "fs__a_b_" + shortHash("fs__a.b", 0)},
		{"", "é", "__" + shortHash("é", 0)},
		{"fs", "", "fs___" + shortHash("fs__", 0)},
		{"fs", "x_0123abcd", "fs__x_0123abcd_" + shortHash("fs__x_0123abcd", 0)},
		{"fs", "x_0123ABCD", "fs__x_0123ABCD"},
		{"fs", strings.Repeat("x", 60), "fs__" + strings.Repeat("x", 60)},
		{"fs", strings.Repeat("x", 61), "fs__" + strings.Repeat("x", 51) + "_" + shortHash("fs__"+strings.Repeat("x", 61), 0)},
	} {
		if got := clientName(c.prefix, c.name, none); got != c.want {
			t.Errorf("%q %q: got %q, want %q", c.prefix, c.name, got, c.want)
		}
	}
}

func TestPrefixes(t *testing.T) {
	for _, c := range []struct{ names, want string }{
		{"fs web", "fs web"},
		{"@fs", "fs"},
		{"_a__b_", "a_b"},
		{"my.server", "my_server"},
		{"localhost:3001", "localhost_3001"},
		{"a.b a:b a-b", "a_b-" + shortHash("a.b", 0) + " a_b-" + shortHash("a:b", 0) + " a-b"},
		{"é", shortHash("é", 0)},
		{"abcdefghijklmnopqrstuvwxyz", "abcdefghijklmno-" + shortHash("abcdefghijklmnopqrstuvwxyz", 0)},
	} {
		if got := strings.Join(Prefixes(strings.Fields(c.names)), " "); got != c.want {
			t.Errorf("%q: got %q, want %q", c.names, got, c.want)
		}
	}
}

// FuzzNames: whatever servers and tools are called, each tool has a unique name that models allow,
// the same in each run, and its prefix is its server's, whatever other servers there are.
func FuzzNames(f *testing.F) {
	f.Add("fs", "web", "read", "write", "a__read")
	f.Add("a", "a_", "_b", "b", "")
	f.Add("a.b", "a:b", "x_0123abcd", "x.0123abcd", strings.Repeat("x", 70))
	f.Add("é", "è", "é", "è", "ê")
	f.Fuzz(func(t *testing.T, server, other, one, two, three string) {
		if server == other {
			return
		}
		prefixes := Prefixes([]string{server, other})
		owner := map[string]int{}
		for i, prefix := range prefixes {
			if again := Prefixes([]string{server, other}); again[i] != prefix || prefix == "" || strings.Contains(prefix, separator) || strings.HasSuffix(prefix, "_") || len(prefix) > maxPrefix {
				t.Fatalf("%q: prefix %q, then %q", server, prefix, again[i])
			}
			seen, names := map[string]bool{}, map[string]bool{}
			for _, tool := range []string{one, two, three} {
				if seen[tool] {
					continue
				}
				seen[tool] = true
				name := clientName(prefix, tool, func(name string) bool { return names[name] })
				if names[name] || len(name) > maxName || plainName(name) != name {
					t.Fatalf("%q %q: %q", prefix, tool, name)
				}
				if _, taken := owner[name]; taken {
					t.Fatalf("%q: two servers have it", name)
				}
				names[name], owner[name] = true, i
				if cut, _, _ := strings.Cut(name, separator); cut != prefix {
					t.Fatalf("%q: prefix %q, want %q", name, cut, prefix)
				}
			}
		}
	})
}
