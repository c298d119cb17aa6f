package telemetry

import (
	"strings"
	"testing"
)

// The cases come from W3C Trace Context, sections 3.2 and 3.3.
func TestParseContext(t *testing.T) {
	const ids = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"
	for text, want := range map[string]string{
		"00-" + ids + "-01":                  "00-" + ids + "-01",
		"00-" + ids + "-00":                  "00-" + ids + "-00",
		"00-" + ids + "-ff":                  "00-" + ids + "-01",
		"cc-" + ids + "-01":                  "00-" + ids + "-01",
		"cc-" + ids + "-01-what":             "00-" + ids + "-01",
		"cc-" + ids + "-01.what":             "",
		"00-" + ids + "-01-":                 "",
		"00-" + ids + "-01-extra":            "",
		"ff-" + ids + "-01":                  "",
		"00-" + ids + "-1":                   "",
		"00-" + ids + "-0x":                  "",
		"0-" + ids + "-01":                   "",
		"0x-" + ids + "-01":                  "",
		"00_" + ids + "-01":                  "",
		"00-" + ids + "_01":                  "",
		" 00-" + ids + "-01":                 "",
		"":                                   "",
		"00-" + strings.ToUpper(ids) + "-01": "",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01":         "",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01":         "",
		"00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01":         "",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\nx: y": "",
	} {
		c, ok := ParseContext(text, "")
		if got := c.Traceparent(); got != want || ok != (want != "") || ok != c.Remote {
			t.Errorf("%q: got %q, %v", text, got, ok)
		}
	}
}

func TestTracestate(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat("a=b,", 2), ",")
	thirtyThree := make([]string, 33)
	for i := range thirtyThree {
		thirtyThree[i] = "k" + strings.Repeat("x", i) + "=1"
	}
	for text, good := range map[string]bool{
		"rojo=00f067aa0ba902b7,congo=t61rcWkgMzE": true,
		"a=b , c=d":                           true,
		"a=1,,b=2":                            true,
		"fw529a3039@dt=FfAAAAA":               true,
		"0tenant@sys=x":                       true,
		"a_-*/9=x y":                          true,
		many:                                  false,
		",":                                   false,
		"":                                    false,
		"A=b":                                 false,
		"0a=b":                                false,
		"a@=b":                                false,
		"a@0=b":                               false,
		"a@toolongsystemid=b":                 false,
		"a":                                   false,
		"a=":                                  false,
		"a=b=c":                               false,
		"a=b\x7f":                             false,
		"a=ü":                                 false,
		strings.Join(thirtyThree[:31], ","):   false, // too long
		strings.Repeat("a", 257) + "=b":       false,
		"a=" + strings.Repeat("b", 257):       false,
		"a=1,b=" + strings.Repeat("b", 256):   true,
		strings.Join(shortMembers(32), ","):   true,
		strings.Join(shortMembers(33), ","):   false,
		strings.Repeat("t", 242) + "@s=value": false,
	} {
		c, ok := ParseContext("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", text)
		if !ok || (c.State == text) != (good || text == "") || c.State != "" && !good {
			t.Errorf("%q: got %q, %v", text, c.State, ok)
		}
	}
}

func shortMembers(n int) (all []string) {
	for i := range n {
		all = append(all, string(rune('a'+i%26))+string(rune('a'+i/26))+"=1")
	}
	return all
}
