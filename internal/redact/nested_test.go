package redact

import (
	"encoding/json"
	"strings"
	"testing"
)

// nested is a JSON text within that many JSON strings.
func nested(t *testing.T, text string, levels int) string {
	t.Helper()
	for range levels {
		raw, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		text = string(raw)
	}
	return text
}

// innermost undoes nested.
func innermost(t *testing.T, text string, levels int) string {
	t.Helper()
	for level := range levels {
		var outer struct{ Text string }
		if err := json.Unmarshal([]byte(text), &outer); err != nil {
			t.Fatalf("level %d: %v in %s", level, err, text)
		}
		text = outer.Text
	}
	return text
}

// In JSON within JSON, however deep, a secret is hidden as a whole, and nothing
// else: all levels stay JSON.
func TestSecretsInNestedJSON(t *testing.T) {
	for _, secret := range []string{
		"CANARYzq5x77", `CANARY zq5x77\`, `CANARYzq5x77\\\`, `CANARY"zq5"x77`, `"CANARYzq5x77"`, `CANARY\"zq5x77\"`, `CANARY\\"zq5x77`,
		"CANARY\nzq5x77\t", `{"CANARY":"zq5x77\\"}`, `CANARY","after":"zq5x77`,
	} {
		for levels := range 5 {
			raw, err := json.Marshal(map[string]any{"after": "kept", "credentials": []string{secret, secret}, "password": secret, "z": `kept\`})
			if err != nil {
				t.Fatal(err)
			}
			var s Secrets
			safe, n := s.Bytes([]byte(nested(t, string(raw), levels)))
			var got struct {
				After, Password, Z string
				Credentials        []string
			}
			text := innermost(t, string(safe), levels)
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Errorf("%s, %d levels: %v in %s", secret, levels, err, text)
			}
			hidden := Redacted(secret)
			if n != 3 || got.After != "kept" || got.Z != `kept\` || got.Password != hidden ||
				len(got.Credentials) != 2 || got.Credentials[0] != hidden || got.Credentials[1] != hidden {
				t.Errorf("%s, %d levels: %d hidden in %s", secret, levels, n, text)
			}
			if again := s.Text("<" + secret + ">"); again != "<"+hidden+">" {
				t.Errorf("%s, %d levels: was not learnt: %s", secret, levels, again)
			}
		}
	}
}

// A number that is secret becomes a string of its level.
func TestSecretNumbersInNestedJSON(t *testing.T) {
	for levels := range 5 {
		safe, n := new(Secrets).Bytes([]byte(nested(t, `{"password" : 12345678,"credentials":[12345678,{"a":12345678}],"z":1}`, levels)))
		text := innermost(t, string(safe), levels)
		hidden := Redacted("12345678")
		want := `{"password" : "` + hidden + `","credentials":["` + hidden + `",{"a":"` + hidden + `"}],"z":1}`
		if text != want || n != 3 {
			t.Errorf("%d levels: %d hidden in %s, want %s", levels, n, text, want)
		}
	}
}

// A number after a name without quotes is part of a text that continues.
func TestSecretNumbersInText(t *testing.T) {
	safe, n := new(Secrets).Bytes([]byte(`{"text":"the password: 12345678, and { 'password': 12345678 }"}`))
	hidden := Redacted("12345678")
	if want := `{"text":"the password: ` + hidden + `, and { '` + "password': '" + hidden + `' }"}`; string(safe) != want || n != 2 {
		t.Errorf("%d hidden in %s, want %s", n, safe, want)
	}
}

// If a text within another is cut, the secret ends with the text around it.
func TestSecretsInCutNestedJSON(t *testing.T) {
	for _, c := range []struct{ text, secret, want string }{
		{`{"text":"{\"password\":\"CANARYzq5","after":"kept"}`, "CANARYzq5", `{"text":"{\"password\":\"HIDDEN","after":"kept"}`},
		{
			`{"text":"{\"text\":\"{\\\"password\\\":\\\"CANARYzq5\"}","after":"kept"}`, "CANARYzq5",
			`{"text":"{\"text\":\"{\\\"password\\\":\\\"HIDDEN\"}","after":"kept"}`,
		},
		{`{"text":"{\"password\":\"CANARYzq5`, "CANARYzq5", `{"text":"{\"password\":\"HIDDEN`},
	} {
		safe, _ := new(Secrets).Bytes([]byte(c.text))
		if want := strings.Replace(c.want, "HIDDEN", Redacted(c.secret), 1); string(safe) != want {
			t.Errorf("%s\nbecame %s\n  want %s", c.text, safe, want)
		}
	}
}
