package redact

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A value that is a secret because of its place is hidden in every other place, too.
func TestSecretsAreLearntWhereverTheyStand(t *testing.T) {
	const c, odd = "CANARYzq5", `C/N"R+zq&5%41`
	basic := func(password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte("some-user:"+password))
	}
	body := func(raw string) wire.Frame { return wire.Frame{Raw: []byte(raw)} }
	head := func(name, value string) wire.Frame {
		return wire.Frame{HTTP: &wire.HTTPHead{Fields: []wire.Field{{Name: name, Value: value}}}}
	}
	for _, secret := range []string{c, odd} {
		in := url.QueryEscape(secret)
		for _, f := range []wire.Frame{
			head("Authorization", basic(secret)), head("Proxy-Authorization", basic(secret)), head("Set-Cookie", "a="+in+"; Path=/"),
			head("Location", "https://h/cb#access_token="+in), head("Location", "https://u:"+in+"@h/"), head("X-Api-Key", secret),
			body(`{"headers":{"Authorization":"` + basic(secret) + `"}}`), body("> Authorization: " + basic(secret)),
			body(`{"text":"see https://u:` + in + `@h/"}`), body(`{"text":"see https:\/\/u:` + in + `@h\/"}`),
			body("grant_type=x&client_secret=" + in), body("code=" + in + "&grant_type=authorization_code"), body("a=b&refresh_token=" + in + "&c=d"),
			body("username=u&password=" + in), body("assertion=" + in + "&b=1"), body("a=b&client_assertion=" + in),
			body(`{"next":"https://h/?url=https%3A%2F%2Fi%2F%3Ftoken%3D` + url.QueryEscape(in) + `"}`),
			body("q=" + url.QueryEscape(string(withPassword(secret)))), body(base64.StdEncoding.EncodeToString(withPassword(secret))),
			body(strings.ReplaceAll(string(withPassword(secret)), `"`, `\u0022`)), body(strings.ReplaceAll(string(withPassword(secret)), `"`, `&quot;`)),
			{HTTP: &wire.HTTPHead{URL: "https://h/cb?x=1&code=" + in}},
		} {
			var s Secrets
			safe := s.Frame(f)
			if strings.Contains(string(safe.Raw), secret) || strings.Contains(string(safe.Raw), in) {
				t.Errorf("%s is kept", safe.Raw)
			}
			if safe := s.Text("it is " + secret + "."); strings.Contains(safe, secret) || len(HiddenIn(safe)) != 1 {
				t.Errorf("%s %v: %s became %s", f.Raw, f.HTTP, secret, safe)
			}
		}
	}
}

// withPassword is a message with a password.
func withPassword(secret string) []byte {
	return []byte(`{"password":` + string(jsonraw.Quote(secret)) + `}`)
}

// A text that is no form does not change.
func TestTextsThatAreNoFormsStay(t *testing.T) {
	for _, text := range []string{"code=137", "exit code=137&more", "a=1&b=2", "&", "a&code", `{"a":"x&code=137"}`} {
		e := hideForm([]byte(text), false)
		if safe, n := e.result(); string(safe) != text || n != 0 {
			t.Errorf("%s became %s", text, safe)
		}
	}
}

// A client may print a message after the word "token": the method of the message is not a secret.
func TestMethodsAreNotLearned(t *testing.T) {
	var s Secrets
	_ = s.Text(`progress for an unknown token: {"method":"notifications/progress","params":{"a":"CANARYzq5"}}`)
	message := `{"jsonrpc":"2.0","method":"notifications/progress"}`
	if safe, n := s.Bytes([]byte(message)); n > 0 {
		t.Errorf("%s became %s", message, safe)
	}
	if !s.Knows("CANARYzq5") {
		t.Error("a value after the word is not learned")
	}
}

// The lines of a key are separate frames if a program prints it.
func TestLinesOfAValueAreLearnt(t *testing.T) {
	var s Secrets
	s.Learn("-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEG\nCCqGSM49AwEHBG0wawIB\n-----END PRIVATE KEY-----\n")
	for _, line := range []string{"MIGHAgEAMBMGByqGSM49AgEG", "key: CCqGSM49AwEHBG0wawIB"} {
		if safe := s.Text(line); !strings.Contains(safe, "••••") || strings.Contains(safe, "GSM49") {
			t.Error(safe)
		}
	}
	if text := "-----BEGIN PRIVATE KEY-----"; s.Text(text) != text {
		t.Error(s.Text(text))
	}
}

// A value goes before a name, which may end within it, and the longer before the shorter.
func TestValuesAreHiddenAsAWhole(t *testing.T) {
	var s Secrets
	s.Learn("ab,cd;ef'gh", "known-one", "known-one-and-more", "more-and-others", `C:\users\key`, "ghp_inner0123456789abc:tail")
	for text, want := range map[string]string{
		"PASSWORD=ab,cd;ef'gh":            "PASSWORD=" + Redacted("ab,cd;ef'gh"),
		"https://h/?token=ab,cd;ef'gh":    "https://h/?token=" + placeholderInURL(Redacted("ab,cd;ef'gh")),
		"known-one known-one-and-more":    Redacted("known-one") + " " + Redacted("known-one-and-more"),
		"known-one-and-more-and-others":   Redacted("known-one-and-more"),
		`{"a":"C:\\users\\key"}`:          `{"a":"` + Redacted(`C:\users\key`) + `"}`,
		`{"a":"\nown-one\known-one"}`:     `{"a":"\nown-one` + Redacted("known-one") + `"}`,
		"ghp_inner0123456789abc:tail":     Redacted("ghp_inner0123456789abc:tail"),
		"https://u:known-one@h/x":         "https://redacted@h/x",
		"https://h/known-one/x?known-one": "https://h/" + placeholderInURL(Redacted("known-one")) + "/x?" + placeholderInURL(Redacted("known-one")),
	} {
		if got := s.Text(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
	f := s.Frame(wire.Frame{HTTP: &wire.HTTPHead{Method: "known-one", URL: "/known-one/%6Bnown-one", Fields: []wire.Field{{Name: "X-known-one", Value: "a/known-one"}}}})
	if f.HTTP.Method != Redacted("known-one") || strings.Contains(f.HTTP.URL+f.HTTP.Fields[0].Name+f.HTTP.Fields[0].Value, "nown-one") {
		t.Errorf("%+v", f.HTTP)
	}
}

// A number is replaced by a string, with the escapes of its depth.
func TestPatternsOfTheUser(t *testing.T) {
	var s Secrets
	s.Hide(regexp.MustCompile(`[0-9]{4}`))
	s.Learn("12345678901")
	mark := func(secret string) string { return Redacted(secret) }
	for text, want := range map[string]string{
		"it is 1234.":                   "it is " + mark("1234") + ".",
		`{"a":1234}`:                    `{"a":"` + mark("1234") + `"}`,
		`{"a":[1,12345,-1234.5e1, 7]}`:  `{"a":[1,"` + mark("1234") + `","` + mark("1234") + `", 7]}`,
		`{"t":"{\"a\": 12345678901 }"}`: `{"t":"{\"a\": \"` + mark("12345678901") + `\" }"}`,
		`[1234]`:                        `["` + mark("1234") + `"]`,
		`{"a":"\u00312\u00334x"}`:       `{"a":"` + mark("1234") + `x"}`,
		`{"a":"12 34"}`:                 `{"a":"12 34"}`,
	} {
		if got := s.Text(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}

// A program has its secrets in variables that are named like them, and in the URLs of others.
func TestSecretsOfAnEnvironment(t *testing.T) {
	for _, entry := range []string{
		"SOME_TOKEN=CANARYzq5x", "DB_PASS=CANARYzq5x", "SMTP_PASS=CANARYzq5x", "MYSQL_PWD=CANARYzq5x",
		"DATABASE_URL=postgres://app:CANARYzq5x@db/x", "REDIS_URL=redis://:CANARYzq5x@h:6379", "HOOK=https://h/?token=CANARYzq5x",
	} {
		var s Secrets
		s.LearnEnvironment([]string{entry})
		if got := s.Text("it is CANARYzq5x."); got != "it is "+Redacted("CANARYzq5x")+"." {
			t.Errorf("%s: %s", entry, got)
		}
		if got := s.Text("> " + entry); strings.Contains(got, "CANARY") {
			t.Error(got)
		}
	}
	var s Secrets
	s.LearnEnvironment([]string{"PWD=/home/CANARY", "OLDPWD=/home/CANARY", "HTTP_PROXY=http://localhost:3128", "BYPASS=CANARYzq5x"})
	if n := s.values.count(); n != 0 {
		t.Errorf("%d values are known", n)
	}
}

// A hidden part of a URL does not change, wherever the URL occurs.
func TestURLOfACommandIsHiddenOnce(t *testing.T) {
	var s Secrets
	argv := []string{"mcpc", "-s", "http://h/mcp?access_token=CANARYzq5x", "--url=http://h/?token=CANARYzq5x"}
	s.LearnCommand(argv)
	mark := placeholderInURL(Redacted("CANARYzq5x"))
	want := "mcpc -s http://h/mcp?access_token=" + mark + " --url=http://h/?token=" + mark
	if got := strings.Join(s.Command(argv), " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, text := range []string{"http://h/?token=" + Redacted("CANARYzq5x"), "token=" + Redacted("CANARYzq5x"), Redacted("CANARYzq5x")} {
		if got := s.Text(text); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
	if s.Holds([]byte("token: some-other")) || !s.Holds([]byte(`{"a":"\u0043ANARYzq5x"}`)) {
		t.Error("what is known is not held, or else what is not")
	}
}

// A pattern alone, or a guess, is something to look for.
func TestHoldsMatchesPatternsAndGuesses(t *testing.T) {
	var none, pattern Secrets
	guess := Secrets{Guess: GuessLikely}
	pattern.Hide(regexp.MustCompile("CANARY[a-z0-9]+"))
	text := []byte(`{"password":"CANARYzq5x"}`)
	if none.Holds(text) || !pattern.Holds(text) || pattern.Holds([]byte("{}")) {
		t.Error("what matches a pattern is not held, or else what does not")
	}
	if !guess.Holds([]byte(`{"text":"see `+randomText+`"}`)) || guess.Holds([]byte("{}")) {
		t.Error("what is guessed is not held, or else what is not")
	}
}
