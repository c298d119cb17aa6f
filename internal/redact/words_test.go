package redact

import (
	"strings"
	"testing"

	"mcpc/internal/wire"
)

// A word that is found by its name is hidden after that name only: it may be the name of a property or a tool.
func TestWordsAreHiddenAfterTheirNamesOnly(t *testing.T) {
	const rest = `,"properties":{"postgres":{"type":"string"}},"description":"Rows of postgres"}`
	for _, message := range []string{
		`{"password":"postgres"` + rest,
		`{"text":"connect(user='admin', password='postgres')"` + rest,
		`{"text":"{\"token\":\"postgres\"}"` + rest,
		`{"text":"Authorization: Bearer postgres"` + rest,
		`{"text":"--api-key=postgres"` + rest,
	} {
		s := new(Secrets)
		safe, n := s.Bytes([]byte(message))
		if n != 1 || !strings.HasSuffix(string(safe), rest) {
			t.Errorf("%d places are hidden: %s", n, safe)
		}
	}
	s := new(Secrets)
	s.LearnField(wire.Field{Name: "Set-Cookie", Value: "region=postgres; Path=/"})
	if safe, n := s.Bytes([]byte(rest)); n > 0 {
		t.Errorf("cookie: %s", safe)
	}
}

// A word that the user gave as a secret is hidden everywhere.
func TestWordsOfTheUserAreHiddenEverywhere(t *testing.T) {
	for name, learn := range map[string]func(*Secrets){
		"command":     func(s *Secrets) { s.LearnCommand([]string{"server", "--password", "postgres"}) },
		"environment": func(s *Secrets) { s.LearnEnvironment([]string{"POSTGRES_PASSWORD=postgres"}) },
		"field":       func(s *Secrets) { s.LearnField(wire.Field{Name: "Authorization", Value: "Bearer postgres"}) },
	} {
		s := new(Secrets)
		learn(s)
		if safe, n := s.Bytes([]byte("no role postgres")); n != 1 {
			t.Errorf("%s: %s", name, safe)
		}
	}
}

func TestPlaceholdersAreNoSecrets(t *testing.T) {
	for _, text := range []string{
		`{"text":"{\"Authorization\": \"Bearer token\"}"}`, `{"text":"Authorization: Bearer YOUR_TOKEN"}`,
		`api_key="YOUR_API_KEY"`, `--token=<token>`, `{"password":"<your password>"}`, `log_in(password='password')`,
		`client_secret: "your-client-secret"`, `Authorization: Bearer <access token>`,
	} {
		s := new(Secrets)
		if safe, n := s.Bytes([]byte(text)); n > 0 || s.values.count() > 0 {
			t.Errorf("%s: %d values are known", safe, s.values.count())
		}
	}
	for _, text := range []string{
		`api_key="YOUR_API_KEY_4711"`, `{"password":"supersecret"}`, `{"password":"token swordfish"}`, `Authorization: Bearer tokenish`,
		`{"token":"<a1b2c3>"}`, `{"secret":"mypassword"}`,
	} {
		if safe, n := new(Secrets).Bytes([]byte(text)); n == 0 {
			t.Errorf("shown: %s", safe)
		}
	}
}

// Keys identify things in most interfaces: tags, issues, files.
func TestKeysThatIdentifyThingsStay(t *testing.T) {
	for _, text := range []string{
		`get_values(facetKey='environment')`, `{"group_key":"release"}`, `{"orderKey":"created_at"}`, `facet_key=\"url\"`,
		`{"issueKey":"PROJ-1234"}`, `{"fileKey":"Ab12Cd34Ef56"}`, `{"projectKey":"PROJ1"}`, `{"tagKey":"os"}`,
	} {
		if safe, n := new(Secrets).Bytes([]byte(text)); n > 0 {
			t.Errorf("hidden: %s", safe)
		}
	}
	for _, text := range []string{
		`api_key='environment'`, `{"accessKey":"swordfish"}`, `{"app_key":"swordfish"}`, `MASTER_KEY=swordfish`, `{"group_key":"Ab12Cd34"}`,
		`OPENAI_KEY=qwrtzpsdfghj`, `{"encryptionKey":"swordfish"}`,
	} {
		if safe, n := new(Secrets).Bytes([]byte(text)); n == 0 {
			t.Errorf("shown: %s", safe)
		}
	}
}
