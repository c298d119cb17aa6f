package cmdutil

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/wire"
)

func redactFile(t *testing.T, text string) *Factory {
	t.Helper()
	f, _ := testFactory(t)
	f.RedactFile = filepath.Join(t.TempDir(), "hidden")
	if err := os.WriteFile(f.RedactFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestLinesOfARedactFile(t *testing.T) {
	f := redactFile(t, "\uFEFF# a comment\n\nabcd\n  longer-secret  \n\"a\\u0062c \\\"d\"\n"+"/id-[0-9]+/\n/Name/i\n/usr/share/x\n")
	if err := f.ReadRedactFile(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		line int
	}{
		{"abcd", 3}, {"longer-secret", 4}, {`abc "d`, 5}, {"id-42", 6}, {"NAME", 7}, {"/usr/share/x", 8}, {
			"abc",
			0,
		}, {"a comment", 0},
	} {
		if got := f.RedactionFor(c.text); got != c.line {
			t.Errorf("%q is of line %d, want %d", c.text, got, c.line)
		}
		if shown := f.Secrets.Text("<" + c.text + ">"); (shown != "<"+c.text+">") != (c.line > 0) {
			t.Errorf("%q is shown as %q", c.text, shown)
		}
		if shown := f.Separate().Secrets.Text("<" + c.text + ">"); (shown != "<"+c.text+">") != (c.line > 0) {
			t.Errorf("%q is shown as %q by a separate invocation", c.text, shown)
		}
	}
}

// A wrong line is named by its number, and its text is not shown.
func TestWrongLinesOfARedactFile(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"abc", ":1: a value needs at least 4 characters"},
		{"# x\n/a(b/", ":2: not a regular expression: missing closing )"},
		{"/x*/", ":1: the pattern also matches the empty text"},
		{"/(x{500}){500}/", ":1: not a regular expression: "},
		{"\"open", ":1: not a JSON string"},
		{"\"abc\"", ":1: a value needs at least 4 characters"},
		{"\xff\xfe\xfd\xfc", ":1: not UTF-8"},
	} {
		f := redactFile(t, c.text)
		got := problem(f, f.ReadRedactFile())
		if !strings.Contains(got, f.RedactFile+c.want) || !strings.HasSuffix(got, "a /regular expression/ or a # comment") {
			t.Errorf("%q: got %s", c.text, got)
		}
	}
	f, _ := testFactory(t)
	f.RedactFile = filepath.Join(t.TempDir(), "none")
	if got := problem(f, f.ReadRedactFile()); got != "--redact-file "+f.RedactFile+": no such file or directory" {
		t.Error(got)
	}
}

// An outcome that is printed repeats no secret, in whichever part of it that is.
func TestOutcomesWithoutSecrets(t *testing.T) {
	f, _ := testFactory(t)
	const secret = "hunter2-hunter2"
	f.Secrets.Learn(secret)
	raw := []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"` + secret + `"}}`)
	before := wire.Outcome{
		Kind: wire.RPCFailed, Text: "no " + secret, Hint: "try " + secret, Method: secret, Name: secret, ServerName: "http://h/" +
			secret,
		Process: &wire.ProcessFacts{Stderr: "bad " + secret},
		HTTP: &wire.HTTPFacts{
			URL: "http://h/?a=" + secret, ContentType: secret, Body: []byte("<" + secret + ">"),
			Fields: []wire.Field{{Name: "X", Value: secret}, {Name: "Authorization", Value: "Bearer abc"}},
		},
		Message:  wire.ParseMessage(raw),
		Input:    &wire.InputFacts{Raw: []byte(`{"a":"` + secret + `",}`), Offset: int64(len(secret) + 8)},
		Findings: []wire.Finding{{Text: secret, Got: secret}},
	}
	o := f.WithoutSecrets(before)
	for place, text := range map[string]string{
		"text": o.Text, "hint": string(o.Hint), "method": o.Method, "name": o.Name, "server": o.ServerName,
		"stderr": o.Process.Stderr,
		"url":    o.HTTP.URL, "content type": o.HTTP.ContentType, "body": string(o.HTTP.Body), "field": o.HTTP.Fields[0].Value,
		"authorization": strings.ReplaceAll(o.HTTP.Fields[1].Value, "abc", secret), "message": string(o.Message.Raw),
		"input": string(o.Input.Raw), "finding": o.Findings[0].Text, "value": o.Findings[0].Got,
	} {
		if text == "" || strings.Contains(text, secret) {
			t.Errorf("%s: %q", place, text)
		}
	}
	if !strings.HasSuffix(string(o.Input.Raw[:o.Input.Offset]), `",`) || !o.Input.IsCommandLine {
		t.Errorf("the place in the input moved: %q", o.Input.Raw[:o.Input.Offset])
	}
	if before.HTTP.Fields[0].Value != secret || before.Process.Stderr != "bad "+secret ||
		before.Findings[0].Text != secret {
		t.Error("the outcome itself was changed")
	}
}

func TestTheEnvironmentIsSecret(t *testing.T) {
	f, _ := testFactory(t)
	f.Environ = func() []string { return []string{"API_TOKEN=from-the-environment", "LANG=en_US.UTF-8-long"} }
	f.LearnEnvironment()
	if got := f.Secrets.Text("x from-the-environment en_US.UTF-8-long"); strings.Contains(got, "from-the") ||
		!strings.Contains(got, "UTF-8-long") {
		t.Error(got)
	}
}
