package elicit_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/client"
	"mcpc/internal/connect/elicit"
	"mcpc/internal/connect/host"
	"mcpc/internal/tests/connecttest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A place is the server of an asker.
type place struct{ typed []string }

func (*place) Label() string { return "box (http://box)" }

func (p *place) AddTyped(content json.RawMessage) { p.typed = append(p.typed, string(content)) }

const form = `{"message":"m","requestedSchema":{"type":"object","properties":{
	"name":{"type":"string","minLength":2},"age":{"type":"integer","default":7},
	"tags":{"type":"array","items":{"type":"string","enum":["a","b","c"]}}},"required":["name"]}}`

const defaults = `{"message":"m","requestedSchema":{"type":"object","properties":{
	"name":{"type":"string","default":"Ann"},"age":{"type":"integer"}},"required":["name"]}}`

const page = `{"mode":"url","message":"m","url":"https://example.com/","elicitationId":"1"}`

func elicitation(key, params string) client.InputRequest {
	return client.InputRequest{Key: key, Method: "elicitation/create", Params: json.RawMessage(params)}
}

func accepted(content string) string { return `{"action":"accept","content":` + content + "}" }

// shown returns an answer in the form of a table: the result, or the kind and the text of the
// outcome.
func shown(a client.Answer) string {
	text := string(a.Result)
	if a.Outcome.Kind != wire.OK {
		text = strings.TrimSpace(text + " " + string(a.Outcome.Kind) + ": " + a.Outcome.Text)
	}
	for _, f := range a.Outcome.Findings {
		text += "; " + strings.TrimSpace(f.Pointer+" "+f.Text)
	}
	return text
}

// Flags answer forms and pages: the flag that does, and its content.
func TestFlagsAnswerForms(t *testing.T) {
	t.Parallel()
	const notAnswered = "input_required: "
	const unfit = "invalid_arguments: the answer does not match the form that the server requested"
	oneForm := []client.InputRequest{elicitation("", form)}
	twoForms := []client.InputRequest{elicitation("", form), elicitation("", form)}
	for _, c := range []struct {
		name  string
		flags host.Answers
		asks  []client.InputRequest
		want  []string // the answers, or how they begin
	}{
		{
			"nothing answers",
			host.Answers{},
			[]client.InputRequest{elicitation("", form), elicitation("", page)},
			[]string{notAnswered, notAnswered},
		},
		{
			"--decline",
			host.Answers{Decline: true},
			[]client.InputRequest{elicitation("", form), elicitation("", page)},
			[]string{
				`{"action":"decline"} input_required: --decline declined the form`,
				`{"action":"decline"} input_required: --decline declined the page`,
			},
		},
		{
			"fields",
			host.Answers{Answers: []string{"name=Bob"}},
			oneForm,
			[]string{accepted(`{"name":"Bob","age":7}`)},
		},
		{
			"a field is typed by the form",
			host.Answers{Answers: []string{"name=12", "age=12"}},
			oneForm,
			[]string{accepted(`{"name":"12","age":12}`)},
		},
		{
			"an empty field leaves it out",
			host.Answers{Answers: []string{"name=Bob", "age="}},
			oneForm,
			[]string{accepted(`{"name":"Bob"}`)},
		},
		{
			"choices add up",
			host.Answers{Answers: []string{"name=Bob", "tags=a", "tags=c"}},
			oneForm,
			[]string{accepted(`{"name":"Bob","age":7,"tags":["a","c"]}`)},
		},
		{
			"other fields do not",
			host.Answers{Answers: []string{"name=Ann", "name=Bob"}},
			oneForm,
			[]string{accepted(`{"name":"Bob","age":7}`)},
		},
		{
			"an unknown field",
			host.Answers{Answers: []string{"name=Bob", "nick=b"}},
			oneForm,
			[]string{unfit + "; /nick is not a field of the form"},
		},
		{
			"a field that does not fit",
			host.Answers{Answers: []string{"name=Bob", "age=x"}},
			oneForm,
			[]string{unfit + "; /age "},
		},
		{
			"a value that breaks the schema",
			host.Answers{Answers: []string{"name=B"}},
			oneForm,
			[]string{unfit + "; /name "},
		},
		{
			"one object answers each form",
			host.Answers{Answers: []string{`{"name":"Bob"}`}},
			twoForms,
			[]string{accepted(`{"name":"Bob","age":7}`), accepted(`{"name":"Bob","age":7}`)},
		},
		{
			"null leaves a field out",
			host.Answers{Answers: []string{`{"name":"Bob","age":null}`}},
			oneForm,
			[]string{accepted(`{"name":"Bob"}`)},
		},
		{
			"an empty object takes the defaults",
			host.Answers{Answers: []string{`{}`}},
			[]client.InputRequest{elicitation("", `{"requestedSchema":{"properties":{"age":{"type":"integer","default":7}}}}`)},
			[]string{accepted(`{"age":7}`)},
		},
		{
			"objects answer in order",
			host.Answers{Answers: []string{`{"name":"Ann"}`, `{"name":"Bob"}`}},
			[]client.InputRequest{elicitation("", form), elicitation("", form), elicitation("", form)},
			[]string{accepted(`{"name":"Ann","age":7}`), accepted(`{"name":"Bob","age":7}`), notAnswered},
		},
		{
			"a list is several objects",
			host.Answers{Answers: []string{`[{"name":"Ann"},{"name":"Bob"}]`}},
			twoForms,
			[]string{accepted(`{"name":"Ann","age":7}`), accepted(`{"name":"Bob","age":7}`)},
		},
		{
			"by the name of the request",
			host.Answers{Answers: []string{`{"one":{"name":"Ann"},"two":{"name":"Bob"}}`}},
			[]client.InputRequest{elicitation("two", form), elicitation("one", form), elicitation("three", form), oneForm[0]},
			[]string{
				accepted(`{"name":"Bob","age":7}`), accepted(`{"name":"Ann","age":7}`),
				"input_required: the server's request is named three, and --answer is for one, two",
				"input_required: the server's request has no name, and --answer is for one, two",
			},
		},
		{
			"a page is no form",
			host.Answers{Answers: []string{`{"name":"Ann"}`}},
			[]client.InputRequest{elicitation("", page)},
			[]string{notAnswered},
		},
		{
			"--answer-defaults",
			host.Answers{Defaults: true},
			[]client.InputRequest{elicitation("", defaults), elicitation("", form)},
			[]string{accepted(`{"name":"Ann"}`), "input_required: the form has no default for name"},
		},
		{
			"no form at all",
			host.Answers{Defaults: true},
			[]client.InputRequest{elicitation("", `{"requestedSchema":7}`)},
			[]string{"bad_response: "},
		},
		{"an unknown request", host.Answers{Decline: true}, []client.InputRequest{{Method: "x/y"}}, []string{notAnswered}},
	} {
		env, _ := connecttest.Env(t, "")
		ask, err := elicit.New(env, &place{}, c.flags, false)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for i, q := range c.asks {
			got := shown(ask(t.Context(), q))
			if !strings.HasPrefix(got, c.want[i]) || strings.HasSuffix(c.want[i], "}") && got != c.want[i] {
				t.Errorf("%s: answer %d is %s, want %s", c.name, i+1, got, c.want[i])
			}
		}
	}
}

// Fields for the first form do not fit the second form: the hint explains why.
func TestFieldsApplyToEveryForm(t *testing.T) {
	t.Parallel()
	env, _ := connecttest.Env(t, "")
	ask, err := elicit.New(env, &place{}, host.Answers{Answers: []string{"age=3"}}, false)
	if err != nil {
		t.Fatal(err)
	}
	first := ask(t.Context(), elicitation("", `{"requestedSchema":{"properties":{"other":{"type":"string"}}}}`))
	second := ask(t.Context(), elicitation("", `{"requestedSchema":{"properties":{}}}`))
	if got := first.Outcome.Hint.String(); got != "the form has the fields other" {
		t.Errorf("first: %s", got)
	}
	hint := second.Outcome.Hint.String()
	if !strings.Contains(hint, "this is not the first form") || !strings.HasSuffix(hint, "the form has no fields") {
		t.Errorf("second: %s", hint)
	}
}

// The texts of --answer are read when the conversation begins; an invalid text is a usage error.
func TestNewRefusesAnswers(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "answer.json")
	if err := os.WriteFile(file, []byte(` {"name":"Bob"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]string{
		"name=x":         "",
		"@" + file:       "",
		"-":              "--answer is neither FIELD=VALUE nor JSON",
		"x":              "--answer is neither FIELD=VALUE nor JSON: x",
		"{x}":            "--answer is not JSON",
		"[1]":            "--answer: an answer is a JSON object, not 1",
		"@" + file + "x": "no such file",
	} {
		env, _ := connecttest.Env(t, "")
		_, err := elicit.New(env, &place{}, host.Answers{Answers: []string{answer}}, false)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", answer, err, want)
		}
	}
	env, _ := connecttest.Env(t, "")
	for _, both := range [][]string{{"a=1", `{"b":1}`}, {`{"x":{"b":1}}`, "a=1"}} {
		_, err := elicit.New(env, &place{}, host.Answers{Answers: both}, false)
		if err == nil || usage.Outcome(err).Text != "--answer takes fields or whole objects, not both" {
			t.Errorf("%q: got %v", both, err)
		}
	}
}

// A person answers what no flag does, and what was typed is noted for a call that is saved.
func TestUserAnswersWithoutFlags(t *testing.T) {
	t.Parallel()
	answered := client.Answer{Result: json.RawMessage(`{"action":"accept","content":{"name":"Bob"}}`)}
	for _, c := range []struct {
		name   string
		flags  host.Answers
		params string
		form   client.Answer
		want   string
		shown  string
		typed  []string
	}{
		{
			"a form",
			host.Answers{},
			form, answered,
			string(answered.Result), "form of box (http://box)",
			[]string{`{"name":"Bob"}`},
		},
		{
			"a refusal",
			host.Answers{},
			form,
			client.Answer{Result: json.RawMessage(`{"action":"decline"}`)},
			`{"action":"decline"} input_required: you declined the form`, "form of box (http://box)",
			[]string{""},
		},
		{
			"no choice",
			host.Answers{},
			form,
			client.Answer{Result: json.RawMessage(`{"action":"cancel"}`)},
			`{"action":"cancel"} input_required: you cancelled the form`, "form of box (http://box)",
			[]string{""},
		},
		{
			"a page",
			host.Answers{},
			page,
			client.Answer{Result: json.RawMessage(`{"action":"cancel"}`)},
			`{"action":"cancel"} input_required: you cancelled the page`, "page of box (http://box)",
			[]string{""},
		},
		{
			"an ending of another kind stays",
			host.Answers{},
			form,
			client.Answer{
				Result: json.RawMessage(`{"action":"cancel"}`), Outcome: wire.Outcome{Kind: wire.Signal, Text: "interrupted"},
			},
			`{"action":"cancel"} signal: interrupted`, "form of box (http://box)",
			[]string{""},
		},
		{
			"a flag comes first",
			host.Answers{Answers: []string{"name=Ann"}},
			form, answered,
			`{"action":"accept","content":{"name":"Ann","age":7}}`, "", nil,
		},
		{
			"the flag has no answer",
			host.Answers{Answers: []string{`{"x":{"name":"Ann"}}`}},
			form, answered,
			string(answered.Result), "form of box (http://box)",
			[]string{`{"name":"Bob"}`},
		},
		{
			"--answer does not visit pages",
			host.Answers{Answers: []string{"name=Ann"}},
			page, answered,
			string(answered.Result), "page of box (http://box)",
			[]string{`{"name":"Bob"}`},
		},
	} {
		env, user := connecttest.Env(t, "")
		user.Form = c.form
		server := &place{}
		ask, err := elicit.New(env, server, c.flags, true)
		if err != nil {
			t.Fatal(err)
		}
		got := shown(ask(t.Context(), elicitation("", c.params)))
		if got != c.want || strings.Join(user.Shown(), "\n") != c.shown || !slices.Equal(server.typed, c.typed) {
			t.Errorf("%s: got %s, typed %q, want %s", c.name, got, server.typed, c.want)
		}
	}
}

// The roots are the directories that the user named, as URIs.
func TestRoots(t *testing.T) {
	t.Parallel()
	env, user := connecttest.Env(t, "")
	env.Verbose = 1
	for _, c := range []struct {
		roots []string
		want  string
	}{
		{nil, "input_required: "},
		{[]string{"/a b/c%", "/d"}, `{"roots":[{"uri":"file:///a%20b/c%25","name":"c%"},{"uri":"file:///d","name":"d"}]}`},
	} {
		ask, err := elicit.New(env, &place{}, host.Answers{Roots: c.roots}, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(ask(t.Context(), client.InputRequest{Method: "roots/list"})); !strings.HasPrefix(got, c.want) {
			t.Errorf("%q: got %s, want %s", c.roots, got, c.want)
		}
	}
	if got := user.Shown(); len(got) != 1 || got[0] != "note: the server requested roots/list: --root answered" {
		t.Errorf("shown: %q", got)
	}
}

// A schema that cannot be followed is a warning, not a reason against the answer.
func TestAnAnswerToABrokenSchemaIsSent(t *testing.T) {
	t.Parallel()
	env, user := connecttest.Env(t, "")
	ask, err := elicit.New(env, &place{}, host.Answers{Answers: []string{"a=x"}}, false)
	if err != nil {
		t.Fatal(err)
	}
	const broken = `{"requestedSchema":{"type":"nothing","properties":{"a":{"type":"string"}}}}`
	got := shown(ask(t.Context(), elicitation("", broken)))
	told := strings.Join(user.Shown(), "\n")
	if got != accepted(`{"a":"x"}`) || !strings.HasPrefix(told, "warn: the answer could not be checked") {
		t.Errorf("got %s, shown %s", got, told)
	}
}
