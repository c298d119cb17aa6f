//go:build programs

package traffic

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// printedBy runs a script whose curl prints its words, one to a line.
func printedBy(t *testing.T, script string, env ...string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", `curl() { for word; do printf '<%s>\n' "$word"; done; }
`+script)
	cmd.Env = append([]string{"PATH=/usr/bin:/bin"}, env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, stderr.String(), script)
	}
	return string(out)
}

func TestCurl(t *testing.T) {
	secret, other := redact.Redacted("0123456789abcdef"), redact.Redacted("fedcba9876543210")
	for _, c := range []struct {
		name string
		post HTTPRequest
		want string
	}{
		{
			"quoting",
			HTTPRequest{"POST", "http://x/a?b='&c=$d", []wire.Field{{Name: "A", Value: "it's $x `y`"}}, []byte(`{"a":"'\\ $(id)"}`)},
			"<-sSN>\n<http://x/a?b='&c=$d>\n<-H>\n<A: it's $x `y`>\n<-H>\n<Accept:>\n<-H>\n<User-Agent:>\n<-H>\n<Content-Type:>\n<--data-raw>\n<{\"a\":\"'\\\\ $(id)\"}>\n",
		},
		{
			"a body that curl would take for a file",
			HTTPRequest{"POST", "http://x/", nil, []byte("@/etc/passwd")},
			"<-sSN>\n<http://x/>\n<-H>\n<Accept:>\n<-H>\n<User-Agent:>\n<-H>\n<Content-Type:>\n<--data-raw>\n<@/etc/passwd>\n",
		},
		{
			"no file in a field either, and none of the connection",
			HTTPRequest{"POST", "http://x/", []wire.Field{
				{Name: "@/etc/passwd", Value: "x"},
				{Name: "Content-Length", Value: "7"},
				{Name: "A", Value: "x\r\nB: y"},
				{Name: "Accept", Value: ""},
				{Name: "User-Agent", Value: ""},
				{Name: "Content-Type", Value: "x"},
			}, []byte("1")},
			"<-sSN>\n<http://x/>\n<-H>\n<Accept;>\n<-H>\n<User-Agent:>\n<-H>\n<Content-Type: x>\n<--data-raw>\n<1>\n",
		},
		{
			"a method",
			HTTPRequest{"a|b`c", "http://[::1]/{a}", nil, nil},
			"<-sSN>\n<-g>\n<-X>\n<a|b`c>\n<http://[::1]/{a}>\n<-H>\n<Accept:>\n<-H>\n<User-Agent:>\n",
		},
		{
			"secrets",
			HTTPRequest{
				"POST", "https://redacted@x/?key=" + strings.NewReplacer("•", "%E2%80%A2", "(", "%28", " ", "+", ",", "%2C", ":", "%3A", ")", "%29").Replace(other),
				[]wire.Field{{Name: "Authorization", Value: "Bearer " + secret}, {Name: "X-Api-Key", Value: other}, {Name: "Accept", Value: "a"}, {Name: "User-Agent", Value: "b"}, {Name: "Content-Type", Value: "c"}},
				[]byte(`{"t":"` + secret + `"}`),
			},
			"<-sSN>\n<https://u:p@x/?key=K>\n<-H>\n<Authorization: Bearer T>\n<-H>\n<X-Api-Key: X>\n<-H>\n<Accept: a>\n<-H>\n<User-Agent: b>\n<-H>\n<Content-Type: c>\n<--data-raw>\n<{\"t\":\"T\"}>\n",
		},
		{
			"bytes that are no word",
			HTTPRequest{"POST", "http://x/", nil, []byte("a\x00\xff%\\'\n")},
			"<-sSN>\n<http://x/>\n<-H>\n<Accept:>\n<-H>\n<User-Agent:>\n<-H>\n<Content-Type:>\n<--data-binary>\n<@->\n",
		},
	} {
		var s Script
		if err := s.Curl(c.post, ""); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := printedBy(t, s.String(), "MCPC_TOKEN=T", "MCPC_X_API_KEY=X", "MCPC_URL_SECRET=K", "MCPC_USERINFO=u:p")
		if got != c.want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s\nof\n%s", c.name, got, c.want, s.String())
		}
	}
}

func TestPrintGivesTheBytes(t *testing.T) {
	for _, raw := range []string{"", "a", "a\n", "\n\n", "it's", "%s\\n", "\x00\x01\xff\x80", "é☕\u202e", "-n", "$x`y`", "a" + redact.Redacted("0123456789abcdef") + "\n"} {
		for _, line := range []bool{false, true} {
			var s Script
			s.Command(s.Print([]byte(raw), line))
			want := strings.Replace(raw, redact.Redacted("0123456789abcdef"), "S", 1)
			if line {
				want += "\n"
			}
			if got := printedBy(t, s.String(), "MCPC_SECRET=S"); got != want {
				t.Errorf("%q, %v: got %q from\n%s", raw, line, got, s.String())
			}
		}
	}
}

func TestScriptEndsWhereAVariableIsNotSet(t *testing.T) {
	var s Script
	s.Command("touch", s.Word(redact.Redacted("0123456789abcdef"), "Authorization"))
	cmd := exec.Command("sh", "-c", s.String())
	cmd.Dir, cmd.Env = t.TempDir(), nil
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "must be set") {
		t.Errorf("%v: %s", err, out)
	}
}
