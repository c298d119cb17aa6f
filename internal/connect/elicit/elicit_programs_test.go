//go:build programs

package elicit_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/client"
	"mcpc/internal/connect/elicit"
	"mcpc/internal/connect/host"
	"mcpc/internal/tests/connecttest"
)

// A stderrUser shows what the commands of the user write to standard error.
type stderrUser struct {
	*connecttest.User
	to *bytes.Buffer
}

func (u stderrUser) Stderr() io.Writer { return u.to }

// The output of the command of --on-elicit is the answer.
func TestOnElicit(t *testing.T) {
	t.Parallel()
	const bad = "invalid_arguments: --on-elicit: "
	for _, c := range []struct{ command, params, want string }{
		{`echo '{"action":"accept","content":{"name":"Bob"}}'`, form, `{"action":"accept","content":{"name":"Bob"}}`},
		{`echo '{"action":"accept"}'`, page, `{"action":"accept"}`},
		{`echo '{"action":"accept"}'`, `{"requestedSchema":{"properties":{}}}`, `{"action":"accept","content":{}}`},
		{`echo '{"action":"accept"}'`, form, bad + "its output does not match the form that the server requested; "},
		{`echo '{"action":"accept","content":{"name":"Bob","x":1}}'`, form, bad + "its output does not match the form"},
		{`echo '{"action":"accept","content":{}}'`, `{"requestedSchema":7}`, "bad_response: "},
		{`echo '{"action":"decline"}'`, form, `{"action":"decline"} input_required: --on-elicit declined the form`},
		{`echo '{"action":"cancel"}'`, page, `{"action":"cancel"} input_required: --on-elicit cancelled the page`},
		{`echo '{"action":"maybe"}'`, form, bad + `its output has no action: {"action":"maybe"}`},
		{`echo hello`, form, bad + "its output is not a JSON object: hello"},
		{`exit 3`, form, "local_io: --on-elicit: the command failed: exit status 3"},
		{
			`read -r line; case $line in *'"message":"m"'*) echo '{"action":"decline"}';; esac`, form,
			`{"action":"decline"} input_required: --on-elicit declined the form`,
		},
	} {
		env, _ := connecttest.Env(t, "")
		ask, err := elicit.New(env, &place{}, host.Answers{OnElicit: c.command}, true)
		if err != nil {
			t.Fatal(err)
		}
		params := strings.ReplaceAll(c.params, "\n", " ")
		if got := shown(ask(t.Context(), elicitation("", params))); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.command, got, c.want)
		}
	}
	env, user := connecttest.Env(t, "")
	stderr := &bytes.Buffer{}
	env.UI = stderrUser{user, stderr}
	ask, _ := elicit.New(env, &place{}, host.Answers{OnElicit: "echo to stderr >&2; exit 1"}, false)
	if ask(t.Context(), elicitation("", form)); stderr.String() != "to stderr\n" {
		t.Errorf("stderr: %q", stderr)
	}
}

// A message for sampling comes from a file, a command or the person.
func TestSampling(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "message.txt")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	const hello = `{"role":"assistant","content":{"type":"text","text":"hello"},"model":"mcpc","stopReason":"endTurn"}`
	byHand := client.Answer{Result: json.RawMessage(`{"by":"hand"}`)}
	for _, c := range []struct {
		name   string
		flags  host.Answers
		person bool
		stdin  string
		want   string
	}{
		{"a file", host.Answers{Sampling: file}, false, "", hello},
		{"a command", host.Answers{OnSampling: "echo hello"}, false, "", hello},
		{
			"a command that fails",
			host.Answers{OnSampling: "exit 2"},
			false, "",
			"local_io: --on-sampling: the command failed: exit status 2",
		},
		{
			"a whole message",
			host.Answers{OnSampling: `echo '{"role":"user","content":[],"model":"m"}'`},
			false, "",
			`{"role":"user","content":[],"model":"m"}`,
		},
		{"a message without a model", host.Answers{OnSampling: `echo '{"role":"user"}'`}, false, "", "invalid_arguments: "},
		{"the person", host.Answers{Sampling: "-"}, true, "not read", `{"by":"hand"}`},
		{"standard input", host.Answers{Sampling: "-"}, false, "hello", hello},
		{"a file that is not there", host.Answers{Sampling: file + "x"}, true, "", "local_io: --sampling: "},
		{"nothing", host.Answers{}, true, "", "input_required: "},
	} {
		env, user := connecttest.Env(t, "")
		user.Form, user.Stdin = byHand, c.stdin
		ask, err := elicit.New(env, &place{}, c.flags, c.person)
		if err != nil {
			t.Fatal(err)
		}
		q := client.InputRequest{Method: "sampling/createMessage", Params: json.RawMessage(`{"messages":[],"maxTokens":100}`)}
		for range 2 { // the content of standard input is used again
			if got := shown(ask(t.Context(), q)); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s: got %s, want %s", c.name, got, c.want)
			}
			user.Stdin = ""
		}
	}
}
