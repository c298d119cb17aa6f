package canary

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcpc/internal/connect/host"
	"mcpc/internal/demo"
	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/program"
)

// An earshot has the secrets that mcpc makes itself and that go no further than to an authorization
// server: verifiers, assertions, proofs. Each has its meaning in its name.
type earshot struct {
	mu  sync.Mutex
	all map[string]string
}

func (h *earshot) hear(position, secret string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if secret != "" {
		h.all[secret] = position
	}
}

// find reports each of them in a text.
func (h *earshot) find(t *testing.T, where string, text []byte) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for secret, position := range h.all {
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s holds the %s %.20s", where, position, secret)
		}
	}
}

// leakyLogin is an authorization server and an MCP server that requires its tokens. Both repeat
// every secret that they receive or issue in the text of an error.
func leakyLogin(t *testing.T, h *earshot) *httptest.Server {
	c := canaries
	mcp := demo.Handler(demo.Options{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		base := "http://" + r.Host
		scheme := "Bearer"
		if r.Header.Get("DPoP") != "" {
			scheme = "DPoP"
		}
		answer := func(status int, body map[string]any) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(body)
		}
		switch r.URL.Path {
		case "/.well-known/oauth-protected-resource/mcp":
			answer(200, map[string]any{"resource": base + "/mcp", "authorization_servers": []string{base}})
		case "/.well-known/oauth-authorization-server":
			answer(200, map[string]any{
				"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token",
				"device_authorization_endpoint": base + "/device", "revocation_endpoint": base + "/revoke", "registration_endpoint": base + "/register",
				"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"client_secret_post"},
				"dpop_signing_alg_values_supported": []string{"ES256"},
			})
		case "/register":
			answer(201, map[string]any{"client_id": "id", "client_secret": c["registered secret"]})
		case "/device":
			answer(200, map[string]any{"device_code": c["device code"], "user_code": "ABCD", "verification_uri": base + "/v", "expires_in": 60, "interval": 1})
		case "/authorize":
			code := c["authorization code"]
			if r.FormValue("scope") == "refused" {
				code += "-refused"
			}
			q := url.Values{"code": {code}, "state": {r.FormValue("state")}}
			http.Redirect(w, r, r.FormValue("redirect_uri")+"?"+q.Encode(), http.StatusFound)
		case "/token":
			_ = r.ParseForm()
			h.hear("verifier", r.Form.Get("code_verifier"))
			h.hear("client assertion", r.Form.Get("client_assertion"))
			h.hear("proof", r.Header.Get("DPoP"))
			switch {
			case r.Form.Get("requested_token_type") != "":
				answer(200, map[string]any{"access_token": c["id-jag"], "token_type": "N_A"})
			case r.Form.Get("scope") == "refused" || strings.HasSuffix(r.Form.Get("code"), "-refused"):
				answer(400, map[string]any{"error": "invalid_request", "error_description": "no: " + r.Form.Encode() + " " + r.Header.Get("DPoP")})
			default:
				answer(200, map[string]any{"access_token": c["access token"], "refresh_token": c["refresh token"], "token_type": scheme, "expires_in": 1})
			}
		case "/revoke":
			_ = r.ParseForm()
			h.hear("client assertion", r.Form.Get("client_assertion"))
			answer(503, map[string]any{"error": "invalid_request", "error_description": "no: " + r.Form.Encode() + " " + r.Header.Get("Authorization")})
		default:
			h.hear("proof", r.Header.Get("DPoP"))
			authorization := r.Header.Get("Authorization")
			if authorization != scheme+" "+c["access token"] {
				w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", error_description="no: `+authorization+`"`)
				http.Error(w, "no: "+authorization+" "+r.Header.Get("DPoP"), http.StatusUnauthorized)
				return
			}
			mcp.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// Every way to a token, with all output: standard error and output have no secret of it, and on the
// disk only the file of the tokens has one.
//
// authorization 61
func TestNoSecretOfALoginIsKeptOrShown(t *testing.T) {
	h := &earshot{all: map[string]string{}}
	s, home, c := leakyLogin(t, h), clitest.NewHome(t), canaries
	dir := home.Dir
	home.Env = append(home.Env, "MCPC_STATE="+dir, "BROWSER=visit", "")
	file := func(position string) string {
		name := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(name, []byte(c[position]), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	target, kept := s.URL+"/mcp", filepath.Join(dir, host.TokensName)
	run := func(env string, args ...string) (code int) {
		t.Helper()
		home.Env[len(home.Env)-1] = env
		got := home.MCPC(args...)
		said := []byte(got.Stdout + got.Stderr)
		h.find(t, strings.Join(args[:2], " "), said)
		findCanaries(t, strings.Join(args[:2], " "), said)
		return got.Code
	}
	own := []string{"--client-id", "robot", "--client-secret-file", file("client secret")}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	ways := [][]string{
		{},
		{"--grant", "authorization_code", "--dpop"},
		{"--grant", "device"},
		append([]string{"--grant", "client_credentials"}, own...),
		append([]string{"--grant", "client_credentials", "--client-id", "robot"}, "--client-secret", c["client secret"]),
		append([]string{"--grant", "jwt-bearer", "--assertion", file("assertion")}, own...),
		append([]string{
			"--grant", "id-jag", "--idp-token-endpoint", s.URL + "/token", "--idp-client-id", "sso",
			"--idp-client-secret-file", file("idp secret"), "--id-token", file("id token"),
		}, own...),
		{"--grant", "client_credentials", "--client-id", "by-key", "--private-key", key},
	}
	for _, loud := range [][]string{{"-vvv"}, {"--json"}} {
		for _, way := range ways {
			run("A=b", "logout", target) // a bound token would be bound again
			if code := run("A=b", append(append([]string{"login", target, "--token-store", "file"}, way...), loud...)...); code != 0 {
				t.Errorf("login %q %q ended with %d", way, loud, code)
			}
			if slices.Contains(way, "--dpop") != strings.Contains(program.Read(t, kept), c["private key"]) {
				t.Errorf("login %q kept %s", way, program.Read(t, kept))
			}
			// The token ends at once: this renews it.
			if code := run("A=b", append([]string{"-s", target, "call", "echo", `{"message":"x"}`, "--explain"}, loud...)...); code != 0 {
				t.Errorf("a call after %q ended with %d", way, code)
			}
			run("A=b", append(append([]string{"login", target, "--scope", "refused", "--account", "refused"}, way...), loud...)...)
		}
		run("A=b", append([]string{"auth", "explain", target}, loud...)...)
		run("A=b", append([]string{"auth", "--account", "x"}, loud...)...)
		run("MCPC_TOKEN="+c["token variable"], append([]string{"-s", target, "list"}, loud...)...)
		run("A=b", append([]string{"-s", target, "list", "--token-file", file("token file")}, loud...)...)
	}
	run("A=b", "log", "--json")
	run("A=b", "show", "last", "--raw")
	run("A=b", "export", "1", "--as", "curl")
	run("A=b", "logout", target, "-vvv")
	run("A=b", "login", target, "--token-store", "file", "--grant", "id-jag", "--json")
	if text := program.Read(t, kept); !strings.Contains(text, c["access token"]) || !strings.Contains(text, c["idp secret"]) {
		t.Errorf("the file of the tokens holds none: %s", text)
	}
	if err := os.Remove(kept); err != nil {
		t.Fatal(err)
	}
	positions := map[string]bool{}
	for _, position := range h.all {
		positions[position] = true
	}
	if len(positions) != 3 || len(h.all) < 10 {
		t.Errorf("the authorization server heard %d secrets of the sorts %v", len(h.all), positions)
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			h.find(t, path, []byte(program.Read(t, path)))
		}
		return err
	})
	if n := findCanariesIn(t, dir); n < 10 {
		t.Errorf("only %d files were looked at", n)
	}
}
