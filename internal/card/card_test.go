package card

import (
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

const (
	entry = `{"$schema": "https://schemas.example/2025-12-11/server.schema.json", "name": "com.example/w", "description": "d", "version": "1.0.0", `
	older = `{"$schema": "https://schemas.example/2025-10-17/server.schema.json", "name": "com.example/w", "description": "d", "version": "1.0.0", `
	npm   = `"registryType": "npm", "identifier": "w", "version": "1.2.3", "transport": {"type": "stdio"}`
)

// resolved is the first way to use the only server of a document.
func resolved(t *testing.T, doc string, v Values) (Plan, error) {
	t.Helper()
	d, err := Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return Resolve(d.Servers[0].Choices[0], v)
}

func TestNamedArgumentsFollowTheSchema(t *testing.T) {
	const list = `"packages": [{` + npm + `, "packageArguments": [{"type": "named", "name": "--a", "value": "1"}, {"type": "positional", "value": "--b=2"}]}]}`
	for begin, want := range map[string]string{
		entry: "npx -y w@1.2.3 --a=1 --b=2", older: "npx -y w@1.2.3 --a 1 --b=2",
		strings.Replace(entry, "2025-12-11", "draft", 1):                                                           "npx -y w@1.2.3 --a=1 --b=2",
		strings.Replace(entry, "2025-12-11", "2026-05-01", 1):                                                      "npx -y w@1.2.3 --a=1 --b=2",
		strings.Replace(older, "2025-10-17", "2025-09-29", 1):                                                      "npx -y w@1.2.3 --a 1 --b=2",
		`{"name": "com.example/w", "version": "1.0.0", `:                                                           "npx -y w@1.2.3 --a 1 --b=2",
		strings.Replace(entry, "/2025-12-11/server.schema.json", "/2025-12-11/server.schema.json.evil.example", 1): "npx -y w@1.2.3 --a 1 --b=2",
	} {
		p, err := resolved(t, begin+list, Values{})
		if got := strings.Join(p.Command, " "); got != want || err != nil {
			t.Errorf("%.80s: got %q, %v, want %q", begin, got, err, want)
		}
	}
}

// The value of an input comes from --input, from the environment, is the default, or was typed.
func TestInputsAreFilledInOrder(t *testing.T) {
	env := func(id string) string { return map[string]string{"a": "env", "b": "env"}[id] }
	ask := func(in Input) (string, error) { return "typed-" + in.ID, nil }
	const doc = entry + `"packages": [{` + npm + `, "packageArguments": [
		{"type": "positional", "value": "fixed", "valueHint": "f"}, {"type": "positional", "valueHint": "a", "default": "default"},
		{"type": "positional", "valueHint": "b", "default": "default"}, {"type": "positional", "valueHint": "c", "default": "default"},
		{"type": "positional", "valueHint": "d", "isRequired": true}, {"type": "positional", "valueHint": "e"},
		{"type": "positional", "value": "x{d}{g}{h}y", "variables": {"d": {"isRequired": true}, "h": {"isSecret": true, "isRequired": true}}}]}]}`
	p, err := resolved(t, doc, Values{Given: map[string][]string{"a": {"flag"}, "h": {"SECRET"}}, Env: env, Ask: ask})
	if got, want := strings.Join(p.Command[3:], " "), "fixed flag env default typed-d xtyped-d{g}${input:h}y"; got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if !slices.Equal(p.Unset, []string{"e"}) || len(p.Inputs) != 1 || !p.Inputs[0].Secret || strings.Contains(string(p.Entry("w")), "SECRET") {
		t.Errorf("unset %q, inputs %+v, entry %s", p.Unset, p.Inputs, p.Entry("w"))
	}
	if _, err := resolved(t, doc, Values{Given: map[string][]string{"f": {"other"}, "d": {"1"}}}); err == nil {
		t.Error("a fixed value was replaced")
	}
	if _, err := resolved(t, doc, Values{Given: map[string][]string{"d": {"${input:h}"}}}); err == nil {
		t.Error("a typed value is a reference")
	}
}

func TestForbiddenVariables(t *testing.T) {
	fit := strings.Fields("WEATHER_KEY GITHUB_TOKEN NODE_ENV KUBECONFIG DEBUG DATABASE_URL PGPASSWORD BRAVEAPIKEY LOG_LEVEL " +
		"ALLOWED_DIRS NOTION_API_TOKEN TOKEN PORT")
	unfit := strings.Fields("node_options NODE_OPTIONS LD_PRELOAD npm_config_registry UV_INDEX_URL PATH Path https_proxy DOCKER_HOST " +
		"XDG_CONFIG_HOME A-B A=B 1A GCONV_PATH MCPC_TOKEN HOMEPAGE PS4 SHELLOPTS BASHOPTS GLIBC_TUNABLES AWS_CA_BUNDLE " +
		"CURL_CA_BUNDLE SSLKEYLOGFILE HOSTALIASES ELECTRON_RUN_AS_NODE NODE_EXTRA_CA_CERTS BASH_ENV PROMPT_COMMAND IFS " +
		"CLASSPATH GOFLAGS JAVA_TOOL_OPTIONS _JAVA_OPTIONS SSL_CERT_FILE REQUESTS_CA_BUNDLE TMPDIR")
	for _, name := range fit {
		if isForbiddenVariable(name) {
			t.Errorf("%s is not set", name)
		}
	}
	for _, name := range append(unfit, "") {
		if !isForbiddenVariable(name) {
			t.Errorf("%q is set", name)
		}
	}
	p, err := resolved(t, entry+`"packages": [{`+npm+`, "packageArguments": [{"type": "named", "name": "--key", "isRequired": true, "isSecret": true}]}]}`, Values{})
	if err != nil || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "other processes") {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestDriftCountsDifferences(t *testing.T) {
	s := Server{Name: "com.example/weather", Title: "The Weather", Version: "1.0.0"}
	c := Choice{Revisions: []string{"r1", "r2"}}
	for _, x := range []struct {
		name, version, revision string
		want                    int
	}{
		{"com.example/weather", "1.0.0", "r1", 0},
		{"weather", "1.0.0", "r2", 0},
		{"the weather", "1.0.0", "r2", 0},
		{"", "", "r1", 0},
		{"other", "1.0.0", "r1", 1},
		{"weather", "1.0.1", "r1", 1},
		{"weather", "1.0.0", "r3", 1},
		{"other", "2", "r3", 3},
	} {
		if got := s.Drift(c, x.name, x.version, x.revision); len(got) != x.want {
			t.Errorf("%+v: got %q", x, got)
		}
	}
}

// Options that are not in the table, and words that are not options, never reach a program.
func TestRuntimeArgumentsAreKnown(t *testing.T) {
	for line, good := range map[string]bool{
		"npx -y": true, "npx --quiet -y": true, "npx evil": false, "npx -y evil": false, "npx --package=evil": false, "npx -c x": false, "npx --registry=https://evil.example": false,
		"npx --yes=evil": false, "npx -yevil": false, "uvx --from=evil": false, "uvx --index-url https://evil.example": false, "uvx --with evil": false, "uvx --isolated": true,
		"dnx --source https://evil.example": false, "docker -e A=b": true, "docker -e": false, "docker -eA=b": false, "docker --rm evil": false, "docker -v=/:/h": true,
		"docker --privileged": true, "docker --privileged=true": true, "docker --privileged evil": false, "docker -H tcp://evil.example": false, "docker --network host": true, "docker --": false,
	} {
		words := strings.Fields(line)
		f := &filler{}
		if f.checkRuntime(words[0], words[1:]); (f.err == nil) != good {
			t.Errorf("%q: %v", line, f.err)
		}
	}
	f := &filler{}
	if got := f.checkRuntime("docker", strings.Fields("--network none --privileged -v /:/h -e A=b --net=host")); len(got) != 3 {
		t.Errorf("warnings: %q", got)
	}
}

// Whatever a document says, its plan is one program among four with a pinned package, or an https
// URL; each reference is to a known input, and no word has a control character.
func FuzzResolve(f *testing.F) {
	for _, seed := range []string{
		entry + `"packages": [{` + npm + `, "runtimeArguments": [{"type": "named", "name": "-y", "value": ""}], "packageArguments": [{"type": "positional", "valueHint": "a"}]}]}`,
		entry + `"packages": [{"registryType": "oci", "identifier": "images.example/w:1", "runtimeArguments": [{"type": "named", "name": "-e", "value": "A={t}", "variables": {"t": {"isSecret": true, "isRequired": true}}}], "environmentVariables": [{"name": "B", "default": "c"}]}]}`,
		older + `"packages": [{"registryType": "pypi", "identifier": "w", "version": "1.0"}, {"registry_type": "nuget", "identifier": "W.X", "version": "1.0.0", "package_arguments": [{"type": "named", "name": "--a", "is_required": true}]}]}`,
		entry + `"remotes": [{"type": "sse", "url": "https://{t}.example/{s}", "variables": {"t": {"default": "x"}, "s": {"isSecret": true, "isRequired": true}}, "headers": [{"name": "A", "value": "B {s}"}]}]}`,
		`{"specVersion": "1.0", "entries": [{"identifier": "a", "type": "application/ai-catalog+json", "data": {}}]}`, `{"servers": [{"server": {}}]}`, `[]`, `{`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := Parse(raw)
		if err != nil {
			return
		}
		for _, s := range d.Servers {
			for _, c := range s.Choices {
				p, err := Resolve(c, Values{Ask: func(Input) (string, error) { return "typed", nil }})
				if err == nil {
					checkPlan(t, p)
				} else if failed := (*Error)(nil); !errors.As(err, &failed) {
					t.Errorf("%T: %v", err, err)
				}
			}
		}
	})
}

func checkPlan(t *testing.T, p Plan) {
	t.Helper()
	texts := append(slices.Clone(p.Command), p.URL)
	for _, list := range [][]Setting{p.Env, p.Headers} {
		for _, s := range list {
			texts = append(texts, s.Name, s.Value)
		}
	}
	for _, text := range texts {
		left := text
		for _, in := range p.Inputs {
			left = strings.ReplaceAll(left, reference(in.ID), "")
		}
		if strings.Contains(left, referencePrefix) || strings.ContainsFunc(left, unicode.IsControl) {
			t.Errorf("%q", text)
		}
	}
	switch p.Kind {
	case "stdio":
		pinned := func(word string) bool { return strings.ContainsAny(path.Base(word), "@:") }
		if !slices.Contains([]string{"npx", "uvx", "dnx", "docker"}, p.Command[0]) || !slices.ContainsFunc(p.Command[1:], pinned) {
			t.Errorf("%q", p.Command)
		}
	default:
		if !strings.HasPrefix(p.URL, "https://") && !strings.HasPrefix(p.URL, "http://") && !strings.HasPrefix(strings.ToLower(p.URL), "http") {
			t.Errorf("%q", p.URL)
		}
	}
}

// Variables multiply a text: that has an end, and takes no time.
func TestExpandedVariablesAreBounded(t *testing.T) {
	many := strings.Repeat("{a}", 10_000)
	for _, list := range []string{
		`"remotes": [{"type": "sse", "url": "https://h.example/` + many + `", "variables": {"a": {"value": "` + strings.Repeat("x", 10_000) + `"}}}]}`,
		`"packages": [{` + npm + `, "packageArguments": [` + strings.Repeat(`{"type": "positional", "value": "x"},`, 1000) + `{"type": "positional", "value": "x"}]}]}`,
		`"packages": [{` + npm + `, "packageArguments": [` + numbered(`{"type": "positional", "valueHint": "a%", "isRequired": true, "isSecret": true}`, 300) + `]}]}`,
	} {
		var refusal *Error
		if _, err := resolved(t, entry+list, Values{}); !errors.As(err, &refusal) || !refusal.Refused {
			t.Errorf("%.100s: %v", list, err)
		}
	}
	// A variable cannot contain variables.
	p, err := resolved(t, entry+`"packages": [{`+npm+`, "packageArguments": [{"type": "positional", "value": "{a}", "variables": {"a": {"value": "{b}", "variables": {"b": {"value": "x"}}}}}]}]}`, Values{})
	if err != nil || p.Command[3] != "{b}" {
		t.Errorf("%q, %v", p.Command, err)
	}
}

func numbered(text string, n int) string {
	var all []string
	for i := range n {
		all = append(all, strings.ReplaceAll(text, "%", strconv.Itoa(i)))
	}
	return strings.Join(all, ", ")
}
