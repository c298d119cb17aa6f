package redact

import (
	"fmt"
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

func TestSecretsAreHiddenWhereverTheyAreNamed(t *testing.T) {
	const c = "CANARYzq5x77"
	for _, text := range []string{
		`{"password":"` + c + `"}`,
		`{"params":{"arguments":{"api_key" : "` + c + `"}}}`,
		`{"result":{"_meta":{"accessToken":"` + c + `","expires":3}}}`,
		`{"text":"{\"clientSecret\": \"` + c + `\"}"}`,
		`{"text":"{\"a\":\"{\\\"clientSecret\\\":\\\"` + c + `\\\"}\"}"}`,
		`{"credentials":["` + c + `",{"user":"` + c + `"}]}`,
		`{"credentials":{"user":"u","value":"` + c + `"}}`,
		`{"token":"a\"` + c + `"}`,
		`{"token":"cut off ` + c,
		`API_KEY=` + c,
		`export GITHUB_TOKEN="` + c + `"`,
		`password: ` + c,
		`Authorization: Bearer ` + c,
		`{"headers":{"Authorization":"Bearer ` + c + `"}}`,
		`connecting to postgres://u:` + c + `@h/db`,
		`GET https://h/x?access_token=` + c + `&a=1 failed`,
		`{"text":"see https://h/cb?code=` + c + `"}`,
		`a Bearer ` + c + c + ` was sent`,
		`key sk-` + c + c,
		`jwt eyJhbGciOiJIUzI1NiJ9.` + c + `.` + c,
		`xBearer ` + c + c, `keysk-` + c + c, `KEYsk-abcdefghijklmnop1234` + c, `valuesk-proj-` + c + c, `myghp_` + c + c, `xeyJhbGciOiJIUzI1NiJ9.` + c + `.` + c,
		`{"text":"the key:\nsk-` + c + c + `\r\n"}`, `{"text":"\tghp_` + c + c + `"}`, `{"text":"\u003csk-` + c + c + `"}`,
		`x=sk-` + c + c, `https://h/x?q=a%20sk-` + c + c, `a/sk-` + c + c, `{"text":"\\nBearer ` + c + c + `"}`,
	} {
		safe, n := (*Secrets)(nil).Bytes([]byte(text))
		if strings.Contains(string(safe), c) || n == 0 {
			t.Errorf("%s\nbecame %s", text, safe)
		}
		if text[0] == '{' && jsonraw.Valid([]byte(text)) == nil && jsonraw.Valid(safe) != nil {
			t.Errorf("%s\nis no JSON any more: %s", text, safe)
		}
		again, n := (*Secrets)(nil).Bytes(safe)
		if string(again) != string(safe) || n != 0 {
			t.Errorf("%s\nwas hidden twice: %s", safe, again)
		}
	}
}

func TestHarmlessTextsStay(t *testing.T) {
	for _, text := range []string{
		``, `{}`, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"progressToken":"abc123456"}}}`,
		`{"error":{"code":-32602,"message":"Invalid token: expected a string"}}`,
		`{"inputSchema":{"type":"object","properties":{"apiKey":{"type":"string","default":"x"},"token":{"description":"d","$ref":"#/x"}},"required":["apiKey"]}}`,
		`{"code":"print(1)","key":"a1b2c3d4"}`, `{"token":true,"password":null,"secret":""}`,
		`{"nextCursor":"eyJwYWdlIjoyLCJ4IjoxMjM0NTY3ODkwfQ"}`,
		`task-3f08a03f-15f6-461e-9611-40137b21fd8e`, `task-V1StGXR8_Z5jdHi6B-myT`, `disk-0123456789abcdef0123`, `a/risk-assessment-2026-report-v2`,
		`apollo-rsk-2024-report-final-x9`, `Tomsk-1234567890123456`, `pnpm_config_registry_2024_mirror_x1`, `uhf_frequency_2400_MHz_band_17`,
		`mypypi-mirror-2024-01-01-of-all`, `{"data":"` + strings.Repeat("iVBORw0KGgo", 5) + `AKIA0123456789ABCDEF` + strings.Repeat("AAANSUhEUgAA", 50) + `"}`,
		`{"data":"` + strings.Repeat("iVBORw0KGgo", 5) + `ghp_aB3aB3aB3aB3aB3aB3aB3` + `"}`, `{"text":"\ntask-0123456789abcdef"}`,
		`see https://example.com/a?page=2`, `{"maxTokens":12345}`, `a=1 b: 2 "c":3`,
		`-H 'Authorization: Bearer …'`, `["urn:ietf:params:oauth:grant-type:device_code","urn:ietf:params:oauth:grant-type:jwt-bearer"]`,
	} {
		if safe, n := (*Secrets)(nil).Bytes([]byte(text)); string(safe) != text || n != 0 {
			t.Errorf("%s\nbecame %s", text, safe)
		}
	}
}

func TestKnownSecretsAreHiddenEverywhere(t *testing.T) {
	var s Secrets
	s.LearnField(wire.Field{Name: "Authorization", Value: "Bearer first-known"})
	s.LearnURL("https://user:second+known@h/?token=third%20known")
	s.LearnCommand([]string{"server", "--api-key", "fourth-known", "PASSWORD=fifth-known"})
	s.LearnEnvironment([]string{"HOME=/nowhere/at/all", "PWD=/nowhere/at/all", "X_TOKEN=sixth\"known"})
	text := `first-known second+known third known third+known fourth-known fifth-known sixth\"known`
	if safe := s.Text(text); strings.Contains(safe, "known") {
		t.Error(safe)
	}
	f := s.Frame(wire.Frame{Raw: []byte(`{"password":"seventh-known"}`)})
	if f.Hidden != 1 || f.Bytes() != len(`{"password":"seventh-known"}`) {
		t.Errorf("%+v", f)
	}
	if safe := s.Text("a server repeats seventh-known, and /nowhere/at/all"); !strings.HasSuffix(safe, "/nowhere/at/all") || strings.Contains(safe, "seventh") {
		t.Error(safe)
	}
}

// Each cookie is learnt, so that it is hidden if another message repeats it. The text after the
// value of a cookie that a server sets has its attributes.
func TestCookiesAreLearnt(t *testing.T) {
	for _, c := range []struct {
		field  wire.Field
		hidden []string
		kept   []string
	}{
		{wire.Field{Name: "Cookie", Value: "first-known"}, []string{"first-known"}, nil},
		{wire.Field{Name: "Cookie", Value: "a=first-known"}, []string{"first-known"}, nil},
		{wire.Field{Name: "COOKIE", Value: "a=first-known; b=second-known;c=third-known"}, []string{"first-known", "second-known", "third-known"}, nil},
		{wire.Field{Name: "Cookie", Value: `a=first=known== ; b="second-known"`}, []string{"first=known==", "second-known"}, nil},
		{
			wire.Field{Name: "set-cookie", Value: "sid=first-known; Domain=host.example; Path=/a/longer/path; Expires=Wed, 21 Oct 2026 07:28:00 GMT"},
			[]string{"first-known"},
			[]string{"host.example", "/a/longer/path", "Wed, 21 Oct 2026 07:28:00 GMT"},
		},
	} {
		var s Secrets
		s.LearnField(c.field)
		for _, secret := range c.hidden {
			if safe := s.Text("it is " + secret + "."); safe != "it is "+Redacted(secret)+"." {
				t.Errorf("%v: %s became %s", c.field, secret, safe)
			}
		}
		for _, text := range c.kept {
			if safe := s.Text(text); safe != text {
				t.Errorf("%v: %s became %s", c.field, text, safe)
			}
		}
	}
}

// The text after the scheme of a field with credentials is learned, too.
func TestCredentialsBehindASchemeAreLearnt(t *testing.T) {
	for _, f := range []wire.Field{{Name: "Authorization", Value: "Bearer first-known"}, {Name: "X-Api-Key", Value: "Token  first-known"}, {Name: "X-Api-Key", Value: "first-known"}} {
		var s Secrets
		s.LearnField(f)
		if safe := s.Text("it is first-known."); safe != "it is "+Redacted("first-known")+"." {
			t.Errorf("%v: became %s", f, safe)
		}
	}
}

// A flag that follows a secret flag is not its value.
func TestFlagsAreNotLearnt(t *testing.T) {
	var s Secrets
	s.LearnCommand([]string{"server", "--token", "--verbose-logs", "--token", "first-known"})
	if got, want := s.Text("--verbose-logs first-known"), "--verbose-logs "+Redacted("first-known"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Known secrets and tokens are found with a search that reads only some of the bytes, at every
// place, and however many are known.
func TestSecretsAreFoundAtEveryPlace(t *testing.T) {
	var s Secrets
	for i := range 200 {
		s.Learn(fmt.Sprintf("%d-known-%d", i, i))
	}
	token := "ghp_" + strings.Repeat("a1", minToken/2)
	for i := range 70 {
		for _, c := range []struct{ secret, before string }{{"7-known-7", "x"}, {"199-known-199", "-"}, {token, " "}, {token, "\n-, "}} {
			text := strings.Repeat(c.before, i) + " " + c.secret + strings.Repeat(" y", i)
			if safe := s.Text(text); strings.Contains(safe, c.secret) || strings.ReplaceAll(safe, Redacted(c.secret), c.secret) != text {
				t.Fatalf("%q became %q", text, safe)
			}
		}
	}
}

// In a URL the placeholder is valid and readable, even if a parameter has no secret name; and it is
// recognized again.
func TestSecretsInURLs(t *testing.T) {
	var s Secrets
	s.Learn(canary)
	shown := "****(len-9,sha256:e8a7)"
	frame := s.Frame(wire.Frame{
		Kind: wire.Head, HTTP: &wire.HTTPHead{URL: "http://h/mcp?sid=" + canary + "&q=" + canary},
		Raw: []byte("see http://h/mcp?sid=" + canary + " token=" + shown),
	})
	want := "http://h/mcp?sid=" + shown + "&q=" + shown
	for range 2 {
		if got := frame.HTTP.URL; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := string(frame.Raw); got != "see http://h/mcp?sid="+shown+" token="+shown || frame.Hidden != 1 {
			t.Errorf("%d hidden in %s", frame.Hidden, got)
		}
		frame = s.Frame(frame)
	}
	if n := len(HiddenIn(want)); n != 2 {
		t.Errorf("%d found in %s", n, want)
	}
}

// A value that is no UTF-8 is written in ways that are too short to look for.
func TestKnownSecretThatIsNoText(t *testing.T) {
	var s Secrets
	s.Learn("\xff\xfe\xff\xfe\xff\xfe\xff\xfe")
	if text := "a \uFFFD b"; s.Text(text) != text {
		t.Error(s.Text(text))
	}
}

func FuzzSecrets(f *testing.F) {
	f.Add([]byte(`{"password":"x","token":["a",{"b":1}],"t":"{\"secret\":\"y\"}"}`))
	f.Add([]byte(`API_KEY=x Bearer abcdefghijklmnop1 https://u:p@h/?code=1`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := string(raw)
		safe, n := new(Secrets).Bytes(raw)
		if string(raw) != before {
			t.Fatal("the bytes were written to")
		}
		if n == 0 && string(safe) != before {
			t.Fatal("changed, and nothing was hidden")
		}
	})
}
