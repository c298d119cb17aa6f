package host_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/connect/host"
	"mcpc/internal/tests/connecttest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// write writes a file in a folder, with the folders above it, and returns its path.
func write(t *testing.T, folder, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// says reports whether an error, with its hint, contains a text; "" means no error.
func says(err error, text string) bool {
	if err == nil || text == "" {
		return err == nil && text == ""
	}
	out := usage.Outcome(err)
	return strings.Contains(out.Text+" "+out.Hint.String(), text)
}

// Header fields come of --header-file and then of -H, and a value of a file is a secret.
func TestHeaderFieldsOfFileAndFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := write(t, dir, "good", "\xEF\xBB\xBF# comment\n\nX-One: from a file\r\nX-Key:  s3cretvalue \n")
	bad := write(t, dir, "bad", "X-One: 1\nno field\n")
	for _, c := range []struct {
		headers, files []string
		want, says     string
	}{
		{nil, nil, "", ""},
		{[]string{"A: 1", "B:2", " C :  3 "}, nil, "A=1 B=2 C=3", ""},
		{[]string{"A:"}, nil, "A=", ""},
		{[]string{"A: b: c"}, nil, "A=b: c", ""},
		{[]string{"A: 1"}, []string{good}, "X-One=from a file X-Key=s3cretvalue A=1", ""},
		{[]string{"A"}, nil, "", "not a header field"},
		{[]string{": a"}, nil, "", "not a header field"},
		{[]string{"A b: c"}, nil, "", "not a header field"},
		{[]string{"A: b\nC: d"}, nil, "", "contains a line break"},
		{nil, []string{bad}, "", "line 2: not a header field"},
		{nil, []string{bad + "x"}, "", "--header-file " + bad + "x"},
	} {
		env, _ := connecttest.Env(t, "")
		env.Headers, env.HeaderFiles = c.headers, c.files
		fields, err := env.Fields()
		var got []string
		for _, f := range fields {
			got = append(got, f.Name+"="+f.Value)
		}
		if !says(err, c.says) || strings.Join(got, " ") != c.want {
			t.Errorf("%q %q: got %q, %v", c.headers, c.files, got, err)
		}
		if _, isUsage := errors.AsType[usage.Error](err); err != nil && !isUsage {
			t.Errorf("%q %q: %v is no usage error", c.headers, c.files, err)
		}
		if len(c.files) > 0 && err == nil && strings.Contains(env.Secrets.Text("it is s3cretvalue"), "s3cretvalue") {
			t.Error("the value of a file is shown")
		}
		if again, _ := env.Fields(); err == nil && !slices.Equal(again, fields) {
			t.Errorf("%q: read again: %v", c.files, again)
		}
	}
}

func TestWithoutFields(t *testing.T) {
	t.Parallel()
	all := []wire.Field{{Name: "A"}, {Name: "b"}, {Name: "C"}}
	if got := host.WithoutFields(all, "B", "c"); !slices.Equal(got, all[:1]) || len(all) != 3 {
		t.Errorf("got %v", got)
	}
}

// The flags that answer a server contradict each other, name extensions and files, and complete what a session has.
func TestAnswerFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, dir, "file", "")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		now    host.Answers
		before *host.Answers
		want   host.Answers
		says   string
	}{
		{name: "nothing"},
		{name: "of the session", before: &host.Answers{Decline: true}, want: host.Answers{Decline: true}},
		{
			name: "of this run", now: host.Answers{OnElicit: "x"}, before: &host.Answers{Decline: true},
			want: host.Answers{OnElicit: "x"},
		},
		{
			name: "fields and defaults", now: host.Answers{Answers: []string{"a=1"}, Defaults: true},
			want: host.Answers{Answers: []string{"a=1"}, Defaults: true},
		},
		{
			name: "paths", now: host.Answers{Answers: []string{"@x", "@-", "a=@x"}, Sampling: "y"},
			want: host.Answers{Answers: []string{"@" + filepath.Join(here, "x"), "@-", "a=@x"}, Sampling: filepath.Join(here,
				"y")},
		},
		{name: "standard input", now: host.Answers{Sampling: "-"}, want: host.Answers{Sampling: "-"}},
		{name: "a root", now: host.Answers{Roots: []string{dir + "/."}}, want: host.Answers{Roots: []string{dir}}},
		{
			name: "an extension", now: host.Answers{Extensions: []string{"a/b", `c/d={"e":1}`}},
			want: host.Answers{Extensions: []string{"a/b", `c/d={"e":1}`}},
		},
		{name: "no root", now: host.Answers{Roots: []string{dir + "/none"}}, says: "--root: there is no directory"},
		{name: "a file as a root", now: host.Answers{Roots: []string{file}}, says: "--root: there is no directory"},
		{name: "two ways", now: host.Answers{Decline: true, OnElicit: "x"}, says: "a form has one answer"},
		{
			name: "a script and a refusal", now: host.Answers{Answers: []string{"a=1"}, Decline: true},
			says: "a form has one answer",
		},
		{name: "defaults and a command", now: host.Answers{Defaults: true, OnElicit: "x"}, says: "a form has one answer"},
		{
			name: "two samplings", now: host.Answers{Sampling: "-", OnSampling: "x"},
			says: "use --sampling or --on-sampling, not both",
		},
		{
			name: "tasks", now: host.Answers{Extensions: []string{"io.modelcontextprotocol/tasks"}},
			says: "mcpc declares it with --task",
		},
		{name: "no id", now: host.Answers{Extensions: []string{"skills"}}, says: `"skills" is not the id of an extension`},
		{name: "no JSON", now: host.Answers{Extensions: []string{"a/b=x"}}, says: "the settings are not JSON"},
	} {
		got, err := host.SettleAnswers(c.now, c.before)
		if !says(err, c.says) || err == nil && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
	if !host.IsZero(host.Answers{}) || host.IsZero(host.Answers{Decline: true}) {
		t.Error("which flags are none")
	}
}

// A file is read up to a limit, and what takes longer than --max-time is given up.
func TestReadFile(t *testing.T) {
	t.Parallel()
	env, _ := connecttest.Env(t, "")
	file := write(t, t.TempDir(), "file", "12345")
	for most, ok := range map[int64]bool{4: false, 5: true, 6: true, -1: true} {
		raw, err := env.ReadFile(file, most)
		if ok != (err == nil) || ok && string(raw) != "12345" {
			t.Errorf("at most %d: %q, %v", most, raw, err)
		}
	}
	if _, err := host.ReadUpTo(strings.NewReader("12345"), 4); err != host.TooMuch(4) ||
		err.Error() != "it has more than 4 bytes" {
		t.Errorf("a stream: %v", err)
	}
	release := make(chan bool)
	defer close(release)
	env.Limits.Hard = time.Millisecond
	_, err := env.InTime(func() ([]byte, error) { <-release; return nil, nil })
	if !usage.IsLate(err) || err.Error() != "it could not be read within 1ms" {
		t.Errorf("what never ends: %v", err)
	}
	env.Limits.Hard = time.Hour
	if raw, err := env.ReadFile(file, 5); err != nil || string(raw) != "12345" {
		t.Errorf("in time: %q, %v", raw, err)
	}
	for message, want := range map[int64]int64{0: host.MostInput, 7: 7} {
		env.Limits.Message = message
		if got := env.InputLimit(); got != want {
			t.Errorf("limit %d: %d", message, got)
		}
	}
}

// A line ends at its line end, at the end of the input, or is too long.
func TestReadLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64<<10)
	for _, c := range []struct {
		text, want string
		err        error
	}{
		{"one\ntwo\n", "one\n", nil},
		{"one", "one", io.EOF},
		{"", "", io.EOF},
		{long[:len(long)-1] + "\n", long[:len(long)-1] + "\n", nil},
		{long + "\n", "", errors.New("too long")},
	} {
		got, err := host.ReadLine(bufio.NewReaderSize(strings.NewReader(c.text), 16))
		if got != c.want || (err == nil) != (c.err == nil) || c.err == io.EOF && err != io.EOF {
			t.Errorf("%.20q: got %.20q, %v", c.text, got, err)
		}
	}
}

// The name of a variable is made from the name of a flag or an input.
func TestNamesOfVariables(t *testing.T) {
	t.Parallel()
	if got := host.EnvName("max-time"); got != "MCPC_MAX_TIME" {
		t.Error(got)
	}
	if got := host.InputEnv("api key.1"); got != "MCPC_INPUT_API_KEY_1" {
		t.Error(got)
	}
}

// A request takes part in a trace by the spans of the process, else by its environment.
func TestTraceMeta(t *testing.T) {
	t.Parallel()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	env, _ := connecttest.Env(t, "")
	if host.TraceMeta(env) != nil {
		t.Error("there is no context")
	}
	env.Getenv = connecttest.Getenv("TRACEPARENT="+parent, "BAGGAGE=a=b")
	members := host.TraceMeta(env)()
	if len(members) != 2 || string(members[0].Value) != `"`+parent+`"` || string(members[1].Value) != `"a=b"` {
		t.Errorf("got %v", members)
	}
	env.Getenv = connecttest.Getenv("TRACEPARENT=nonsense")
	if host.TraceMeta(env) != nil {
		t.Error("a context that is none")
	}
}

// The tokens and the sessions are in the folder of the state.
func TestStateAndTokens(t *testing.T) {
	t.Parallel()
	env, _ := connecttest.Env(t, "")
	store, st, err := env.LoadState()
	if err != nil || store.Dir() != env.State || len(st.Names()) > 0 {
		t.Errorf("%v %v %v", store, st.Names(), err)
	}
	write(t, env.State, host.TokensName, `{"version":1}`)
	tokens, err := env.Tokens()
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := tokens.File.Read(); string(raw) != `{"version":1}` {
		t.Errorf("%s %v", raw, err)
	}
	write(t, env.State, "state.json", "{")
	if _, _, err := env.LoadState(); err == nil {
		t.Error("a damaged state is no error")
	}
}
