package saved

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

func TestReadFile(t *testing.T) {
	f, bad := ReadFile(json.RawMessage(`{"server":"demo","protocol":"x","headers":{"Authorization":"Bearer ${env.TOKEN}","X-Trace":"1"},
		"vars":{"a":1,"who":"Ada"},"steps":[
		{"name":"adds","call":"get-sum","args":{"a":"${a}","b":"${a} ${a}"},"validate":false,"capture":{"sum":".x"},
		 "expect":{"kind":"tool_error","exit":5,"text":["42","7"],"jq":[".a",true],"within":"1.5s"}},
		{"list":"tools","expect":".tools"},{"list":"tools","expect":{"within":2}},{"raw":"x/y","params":[1]}]}`))
	if len(bad) > 0 {
		t.Fatalf("problems: %+v", bad)
	}
	var names []string
	for _, s := range f.Steps {
		names = append(names, s.Name)
	}
	if diff := cmp.Diff([]string{"adds", "list tools", "list tools #2", "raw x/y"}, names); diff != "" {
		t.Error(diff)
	}
	e := f.Steps[0].Expect
	if e.Kind != wire.ToolError || e.Exit != 5 || len(e.Texts) != 2 || e.Queries[1] != (Wanted{"/steps/0/expect/jq/1", "true"}) || e.Within.String() != "1.5s" {
		t.Errorf("expect: %+v", e)
	}
	if f.Steps[2].Expect.Within.String() != "2s" || f.Steps[1].Expect.Queries[0].Text != ".tools" || !f.Steps[0].Loose {
		t.Errorf("steps: %+v", f.Steps)
	}
	if got := fmt.Sprint(f.Steps[0].Uses()); got != "[a]" {
		t.Errorf("uses %s", got)
	}
}

func TestReadFileSaysWhatIsWrong(t *testing.T) {
	step := func(s string) string { return `{"server":"demo","steps":[` + s + `]}` }
	for _, c := range []struct{ file, at, want string }{
		{`null`, "", "the file is empty"},
		{`[]`, "", "must be a mapping"},
		{`{}`, "", "no steps"},
		{`{"steps":[]}`, "/steps", "no steps"},
		{`{"steps":{}}`, "/steps", "must be a list"},
		{`{"setps":[],"steps":[{"call":"x"}]}`, "/setps", `no key "setps"`},
		{`{"server":"demo","command":["x"],"steps":[{"call":"x"}]}`, "/command", "both name a server"},
		{`{"server":1,"steps":[{"call":"x"}]}`, "/server", "must be a text"},
		{`{"server":"https://me:hunter2hunter2@x/mcp","steps":[{"call":"x"}]}`, "/server", "a secret"},
		{`{"command":["x","--token","hunter2hunter2"],"steps":[{"call":"x"}]}`, "/command/2", "a secret"},
		{`{"headers":{"X-Api-Key":"hunter2"},"steps":[{"call":"x"}]}`, "/headers/X-Api-Key", "a secret"},
		{`{"headers":{"Authorization":"Bearer ${env.A} more"},"steps":[{"call":"x"}]}`, "/headers/Authorization", "a secret"},
		{`{"server":"https://me:hunter2hunter2@x/${p}","vars":{"p":1},"steps":[{"call":"x"}]}`, "/server", "a secret"},
		{`{"vars":{"p":1},"command":["x","--token","hunter2hunter2${p}"],"steps":[{"call":"x"}]}`, "/command/2", "a secret"},
		{`{"vars":{"p":1},"steps":[{"call":"x","args":{"m":"sk-abcdefghijklmnopqrstuvwxyz123456 ${p}"}}]}`, "/steps/0/args/m", "a secret"},
		{`{"vars":{"1a":1},"steps":[{"call":"x"}]}`, "/vars/1a", "not a variable name"},
		{`{"vars":{"a":"${env.B}"},"steps":[{"call":"x"}]}`, "/vars/a", "write ${env.B} where it is used"},
		{`{"vars":{"t":"sk-abcdefghijklmnopqrstuvwxyz123456"},"steps":[{"call":"x"}]}`, "/vars/t", "a secret"},
		{step(`{"call":"x","read":"y"}`), "/steps/0", "one action, not call and read"},
		{step(`{"name":"x"}`), "/steps/0", "has no action"},
		{step(`{"cal":"x"}`), "/steps/0/cal", `no key "cal"`},
		{step(`{"call":"x","args":[1]}`), "/steps/0/args", "must be a mapping"},
		{step(`{"call":"x","params":{}}`), "/steps/0/params", "call takes args"},
		{step(`{"raw":"x","args":{}}`), "/steps/0/args", "raw takes params"},
		{step(`{"list":"tools","args":{}}`), "/steps/0/args", "list takes no args"},
		{step(`{"read":"x","validate":false}`), "/steps/0/validate", "only call and prompt"},
		{step(`{"call":"x","validate":"no"}`), "/steps/0/validate", "true or false"},
		{step(`{"call":"x","args":{"a":["${a"]}}`), "/steps/0/args/a/0", "not closed"},
		{step(`{"call":"x","args":{"a":"${a b}"}}`), "/steps/0/args/a", "is not a variable name"},
		{step(`{"call":"x","capture":{"a":1}}`), "/steps/0/capture/a", "jq expression"},
		{step(`{"call":"x","expect":{"kind":"toolerror"}}`), "/steps/0/expect/kind", "unknown kind"},
		{step(`{"call":"x","expect":{"exit":-1}}`), "/steps/0/expect/exit", "exit code"},
		{step(`{"call":"x","expect":{"kind":"ok","exit":5}}`), "/steps/0/expect/exit", "ends with 0"},
		{step(`{"call":"x","expect":{"kind":"auth","exit":5}}`), "/steps/0/expect/exit", "contradict"},
		{step(`{"call":"x","expect":{"within":"soon"}}`), "/steps/0/expect/within", "must be a time"},
		{step(`{"call":"x","expect":{"jq":{}}}`), "/steps/0/expect/jq", "jq expression"},
	} {
		_, bad := ReadFile(json.RawMessage(c.file))
		if len(bad) == 0 || bad[0].At != c.at || !strings.Contains(bad[0].Text, c.want) || bad[0].Mild {
			t.Errorf("%s\ngot %+v, want %s at %s", c.file, bad, c.want, c.at)
		}
	}
}

func TestWrongKindOrExitIsOneProblem(t *testing.T) {
	for _, expect := range []string{`{"kind":"toolerror","exit":5}`, `{"kind":"tool_error","exit":"five"}`} {
		_, bad := ReadFile(json.RawMessage(`{"steps":[{"call":"x","expect":` + expect + `}]}`))
		if len(bad) != 1 {
			t.Errorf("%s\ngot %+v", expect, bad)
		}
	}
}

// A value from the environment is no secret of the file, wherever it is used.
func TestReferencesAreNoSecrets(t *testing.T) {
	_, bad := ReadFile(json.RawMessage(`{"server":"https://me:${env.PW}@x/mcp?token=${env.T}&x=1","headers":{"Authorization":"Bearer ${env.T}"},
		"steps":[{"call":"x","args":{"m":"Bearer ${env.T}","u":"https://me:${env.PW}@y/?api_key=${env.K}","password":"${env.PW}!","j":"{\"token\":\"${env.T}\"}"}}]}`))
	if len(bad) > 0 {
		t.Errorf("got %+v", bad)
	}
	_, bad = ReadFile(json.RawMessage(`{"command":["x","--token","${env.T}","--password=${env.PW}","API_KEY=${env.K}"],"steps":[{"call":"x"}]}`))
	if len(bad) > 0 {
		t.Errorf("got %+v", bad)
	}
}

func TestLiteralPasswordIsMildProblem(t *testing.T) {
	_, bad := ReadFile(json.RawMessage(`{"steps":[{"call":"login","args":{"password":"wrong","user":"ada","token":"${env.TOKEN}"}}]}`))
	if len(bad) != 1 || !bad[0].Mild || bad[0].At != "/steps/0/args/password" {
		t.Errorf("got %+v", bad)
	}
}

func TestFillReplacesVariables(t *testing.T) {
	values := map[string]Value{
		"n": {JSON: json.RawMessage("9007199254740993")}, "s": {JSON: jsonraw.Quote(`a"b`)}, "o": {JSON: json.RawMessage(`{"x":[1, 2]}`)},
		"out": {JSON: jsonraw.Quote("7"), Untyped: true}, "env.X": {JSON: jsonraw.Quote("top"), Untyped: true},
	}
	look := func(name string) (Value, error) {
		if v, ok := values[name]; ok {
			return v, nil
		}
		return Value{}, fmt.Errorf("no %s", name)
	}
	for _, c := range []struct{ raw, want, untyped string }{
		{`{"a":"${n}","b":"n is ${n}","c":1.50}`, `{"a":9007199254740993,"b":"n is 9007199254740993","c":1.50}`, ""},
		{`{"a":"${s}","b":["${o}","x${o}"]}`, `{"a":"a\"b","b":[{"x":[1, 2]},"x{\"x\":[1,2]}"]}`, ""},
		{`{"a":"$${n}","b":"$5 {x}"}`, `{"a":"${n}","b":"$5 {x}"}`, ""},
		{`{"a":"${out}","b":{"c":"${env.X}","d":1},"e":["${out}",{"f":"${out}"}],"g":"${out}!"}`, `{"b":{"d":1},"e":["7",{"f":"7"}],"g":"7!"}`, "[{[a] 7} {[b c] top}]"},
	} {
		got, untyped, err := Fill(json.RawMessage(c.raw), look)
		if err != nil || string(got) != c.want || c.untyped != "" && fmt.Sprint(untyped) != c.untyped {
			t.Errorf("%s\ngot  %s %v %v\nwant %s %s", c.raw, got, untyped, err, c.want, c.untyped)
		}
	}
	if _, _, err := Fill(json.RawMessage(`{"a":["${gone}"]}`), look); err == nil {
		t.Error("a variable that nobody knows is filled")
	}
}

// A value that is written as a literal is filled to the same value.
func TestLiteralFillsToSameValue(t *testing.T) {
	hidden := redact.Redacted("a secret of some length")
	raw := `{"a":"${x} $${y} $5","b":["${"],"c":{"t":` + string(jsonraw.Quote("Bearer "+hidden)) + `},"n":1.50}`
	literal := Literal(json.RawMessage(raw), func(string) string { return "TOKEN" })
	got, _, err := Fill(literal, func(name string) (Value, error) {
		if name != "env.TOKEN" {
			t.Errorf("%s is looked up", name)
		}
		return Value{JSON: jsonraw.Quote(hidden)}, nil
	})
	if err != nil || string(got) != raw {
		t.Errorf("got  %s %v\nwant %s", got, err, raw)
	}
}
