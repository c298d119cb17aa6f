package connect_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/client"
	"mcpc/internal/client/auth"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/tests/connecttest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A server may refuse a request without a token by an error of JSON-RPC: the hint names the ways to send one.
func TestRefusalsByErrorsOfJSONRPC(t *testing.T) {
	t.Parallel()
	const ways = "the server may want a token (MCPC_TOKEN, --token-file FILE) or an API key (-H 'NAME: VALUE'); mcpc login URL tries OAuth"
	for _, c := range []struct{ message, token, want string }{
		{"unauthorized", "", ways},
		{"Unauthorized: missing token", "", ways},
		{"No API key", "", ways},
		{"Authentication required", "", ways},
		{"unauthorized", "t0ken", "the server may not know the given token: use a new one"},
		{"Request timed out", "", ""},
		{"the token bucket is empty", "", ""},
	} {
		server := connecttest.Play(t, "speaks 2025-11-25\ntool x\non initialize\n    error -32001 "+c.message+"\n")
		env, _ := connecttest.Env(t, server.URL)
		env.Getenv = connecttest.Getenv("MCPC_TOKEN=" + c.token)
		conn, out := connect.Dial(t.Context(), env, connect.Options{})
		conn.Close(t.Context())
		hint := strings.ReplaceAll(connect.Explain(env, out).Hint.String(), server.URL, "URL")
		if out.Kind != wire.RPCFailed || hint != c.want {
			t.Errorf("%s: %s, hint %q", c.message, ended(out), hint)
		}
	}
}

// A step is a rule that was kept or broken, a request, or a remark.
func TestStepLine(t *testing.T) {
	t.Parallel()
	for want, step := range map[string]auth.Step{
		"pass  MUST":                        {Rule: "MUST"},
		"fail  MUST: it is not":             {Rule: "MUST", Broken: true, Text: "it is not"},
		"      a remark":                    {Text: "a remark"},
		"      http://h returned HTTP 404":  {URL: "http://h", Status: 404},
		"      http://h: refused":           {URL: "http://h", Text: "refused"},
		"      http://h returned HTTP 1: x": {URL: "http://h", Status: 1, Text: "x"},
	} {
		if got := connect.StepLine(step); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The user's own token comes of a file or a variable, is one word, and a secret.
func TestTokenOfVariableOrFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	for _, c := range []struct{ name, variable, file, want, says string }{
		{"none", "", "", "", ""},
		{"a variable", "t0ken-of-env", "", "Bearer t0ken-of-env", ""},
		{"a file", "", " t0ken-of-file\n", "Bearer t0ken-of-file", ""},
		{"a file before the variable", "t0ken-of-env", "t0ken-of-file", "Bearer t0ken-of-file", ""},
		{"an empty file", "", "\n", "", "the file is empty"},
		{"two words", "Bearer x", "", "", "the token contains characters that are not allowed"},
		{"another character", "tokén", "", "", "the token contains characters that are not allowed"},
		{"no file", "", "none", "", "--token-file "},
	} {
		server := connecttest.Play(t, "speaks 2025-11-25\ntool x\n")
		env, _ := connecttest.Env(t, server.URL)
		env.Getenv = connecttest.Getenv("MCPC_TOKEN=" + c.variable)
		if c.file != "" {
			env.Auth.TokenFile = file
			if err := os.WriteFile(file, []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
			if c.file == "none" {
				env.Auth.TokenFile += "x"
			}
		}
		conn, out := connect.Dial(t.Context(), env, connect.Options{})
		if !strings.HasPrefix(out.Text, c.says) && !strings.Contains(out.Text, c.says) || (c.says == "") != out.OK() {
			t.Errorf("%s: %s", c.name, ended(out))
		}
		if out.OK() {
			if got := server.Requests("initialize")[0].Header.Get("Authorization"); got != c.want {
				t.Errorf("%s: sent %q", c.name, got)
			}
			if token := strings.TrimPrefix(c.want, "Bearer "); token != "" &&
				strings.Contains(env.Secrets.Text("it is "+token), token) {
				t.Errorf("%s: %s is shown", c.name, token)
			}
		}
		conn.Close(t.Context())
	}
}

// A refusal names the next step, and a bare login answers its challenge.
func TestRefusalsAreExplained(t *testing.T) {
	t.Parallel()
	const refuses = "speaks 2025-11-25\ntool x\non initialize\n    status 401\n"
	const bearer = `    header WWW-Authenticate: Bearer resource_metadata="http://127.0.0.1:$PORT/meta"` + "\n"
	for _, c := range []struct {
		name, script string
		change       func(*host.Env)
		want         string // in the hint
		kept         bool   // the challenge
	}{
		{"a challenge", refuses + bearer, nil, "mcpc login URL", true},
		{
			"no challenge", refuses, nil,
			"mcpc login URL (OAuth), a token from the operator in MCPC_TOKEN, or -H 'NAME: VALUE' with an API key", true,
		},
		{
			"a challenge that names no metadata", refuses + "    header WWW-Authenticate: Bearer realm=\"x\"\n", nil,
			"mcpc login URL (OAuth), or a token from the operator in MCPC_TOKEN", true,
		},
		{
			"a challenge of another kind", refuses + "    header WWW-Authenticate: Basic realm=x\n", nil,
			"the challenge is not OAuth, so mcpc login does not help", false,
		},
		{
			"the user's own token", refuses + bearer,
			func(e *host.Env) { e.Headers = []string{"Authorization: Bearer t0ken-typed"} },
			"the given token was rejected: use a new one, or remove it and run mcpc login URL", false,
		},
		{
			"the user's own token with too few scopes",
			"speaks 2025-11-25\ntool x\non initialize\n    status 403\n    header WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"a b\"\n",
			func(e *host.Env) { e.Headers = []string{"Authorization: Bearer t0ken-typed"} },
			"use a token with these scopes, or remove it and run mcpc login URL", false,
		},
		{
			"an account of the session", refuses + bearer, func(e *host.Env) { e.Auth.Account = "me" },
			"mcpc login URL --account me", true,
		},
		{
			"an account that was typed", refuses + bearer, func(e *host.Env) { e.Auth.Account, e.AccountTyped = "me", true },
			"mcpc login URL", true,
		},
		{
			"no authorization wanted", refuses + bearer, func(e *host.Env) { e.Headers = []string{"Authorization:"} }, "",
			false,
		},
	} {
		server := connecttest.Play(t, c.script)
		env, _ := connecttest.Env(t, server.URL)
		if c.change != nil {
			c.change(env)
		}
		conn, out := connect.Dial(t.Context(), env, connect.Options{})
		conn.Close(t.Context())
		explained := connect.Explain(env, out)
		hint := strings.ReplaceAll(explained.Hint.String(), server.URL, "URL")
		if out.Kind != wire.Auth || !strings.HasPrefix(hint, c.want) {
			t.Errorf("%s: %s, hint %s", c.name, ended(out), hint)
		}
		if c.name == "an account that was typed" && strings.Contains(hint, "--account") {
			t.Errorf("%s: the hint has it twice: %s", c.name, hint)
		}
		tokens, err := env.Tokens()
		if err != nil {
			t.Fatal(err)
		}
		records, err := tokens.Load()
		if err != nil || (records.Pending != nil) != c.kept {
			t.Errorf("%s: the challenge is kept: %+v, %v", c.name, records.Pending, err)
		}
		if records.Pending != nil && (records.Pending.Endpoint != server.URL || records.Pending.Status != 401) {
			t.Errorf("%s: %+v", c.name, records.Pending)
		}
	}
}

// A failed login has the kind of its cause; a temporary failure can be tried again.
func TestAuthFailed(t *testing.T) {
	t.Parallel()
	out := connect.AuthFailed(errors.New("other"), wire.Outcome{Hint: "before"})
	if out.Text != "other" || out.Phase != "authorization" || out.Hint != "before" {
		t.Errorf("%+v", out)
	}
	late := usage.Late("it took too long")
	for _, c := range []struct {
		name      string
		err       *auth.Error
		known     wire.Kind
		want      wire.Kind
		retryable bool
	}{
		{"a token that is refused", &auth.Error{Rule: auth.TokenRefused}, wire.OK, wire.Auth, false},
		{"a host that is not there", &auth.Error{Rule: auth.Unreachable}, wire.OK, wire.Auth, true},
		{"a timeout", &auth.Error{Rule: auth.Unreachable, Err: late}, wire.OK, wire.Timeout, true},
		{"a timeout after a refusal", &auth.Error{Rule: auth.Unreachable, Err: late}, wire.Auth, wire.Auth, true},
		{"an address that is not allowed", &auth.Error{Rule: auth.URLBlocked}, wire.Auth, wire.Refused, false},
		{"a store that failed", &auth.Error{Rule: auth.StoreFailed}, wire.OK, wire.LocalIO, false},
	} {
		got := connect.AuthFailed(c.err, wire.Outcome{Kind: c.known})
		if got.Kind != c.want || got.Retryable != c.retryable {
			t.Errorf("%s: %s, retryable %t", c.name, got.Kind, got.Retryable)
		}
	}
}

// HasSecret distinguishes a URL with a secret from one without.
func TestHasSecret(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{
		"http://h/mcp": false, "http://u:p@h/mcp": true,
		"http://h/mcp?token=s3cret-token": true,
	} {
		if got := connect.HasSecret(url); got != want {
			t.Errorf("%s: %t", url, got)
		}
	}
}

// Secrets of fields, commands and sessions are known before anything is shown.
func TestLearnSecrets(t *testing.T) {
	t.Parallel()
	env, _ := connecttest.Env(t, "http://h.example/mcp?token=t0ken-of-url")
	env.Environ = func() []string { return []string{"GITHUB_TOKEN=t0ken-of-environ"} }
	c := &connect.Conn{Env: env}
	if out := c.Find(nil); !out.OK() {
		t.Fatal(ended(out))
	}
	c.OneOff.Command, c.OneOff.SessionID = []string{"run", "--password", "passw0rd-of-command"}, "id-of-session-1"
	c.LearnSecrets([]wire.Field{{Name: "X-Api-Key", Value: "k3y-of-field"}})
	for _, secret := range []string{
		"t0ken-of-url", "t0ken-of-environ", "passw0rd-of-command", "id-of-session-1",
		"k3y-of-field",
	} {
		if strings.Contains(env.Secrets.Text("it is "+secret), secret) {
			t.Errorf("%s is shown", secret)
		}
	}
}

// Secrets that a server repeats are not kept.
func TestSafeInfoHasNoSecrets(t *testing.T) {
	t.Parallel()
	env, _ := connecttest.Env(t, "")
	env.Secrets.Learn("s3cret-value-1")
	info := connect.SafeInfo(env, client.Info{
		ServerInfo:   []byte(`{"name":"s3cret-value-1"}`),
		Capabilities: []byte(`{"a":{}}`),
		Instructions: "say s3cret-value-1",
	})
	if strings.Contains(string(info.ServerInfo)+info.Instructions, "s3cret") || string(info.Capabilities) != `{"a":{}}` {
		t.Errorf("%s %s %s", info.ServerInfo, info.Instructions, info.Capabilities)
	}
}

// The frames of a connection reach a watcher, who sees no secret, and the trace.
func TestTapsReceiveFramesWithoutSecrets(t *testing.T) {
	t.Parallel()
	env, _ := connecttest.Env(t, connecttest.Play(t, "speaks 2025-11-25\ntool x\n").URL)
	env.Headers = []string{"X-Api-Key: k3y-of-field"}
	fields := func(into *[]string) wire.Tap {
		return func(f wire.Frame) {
			if f.HTTP != nil && f.Dir == wire.Sent {
				*into = append(*into, f.HTTP.Field("X-Api-Key"))
			}
		}
	}
	var watched, traced []string
	watch := fields(&watched)
	env.Watch.Store(&watch)
	env.Trace.Tap = fields(&traced)
	c, out := connect.Dial(t.Context(), env, connect.Options{})
	defer c.Close(t.Context())
	if !out.OK() || len(traced) == 0 || len(watched) == 0 ||
		slices.Contains(watched, "k3y-of-field") {
		t.Errorf("watched %q, traced %q, %s", watched, traced, ended(out))
	}
	if !env.Record.HasTraffic.Load() {
		t.Error("nothing crossed")
	}
}
