package cmdutil

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// answering returns a Factory with flags of words, and what its streams have.
func answering(t *testing.T, words ...string) (f *Factory, stdout, stderr *bytes.Buffer) {
	t.Helper()
	f, _ = parsed(t, words...)
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	f.Out, f.Err = stdout, stderr
	f.SettleStyles()
	return f, stdout, stderr
}

// document is an answer whose text for a person is a word for each member of the document.
func document(raw string) Answer {
	return Document([]byte(raw), func(w io.Writer, _ term.Style) error {
		_, err := fmt.Fprintln(w, "text of "+raw)
		return err
	})
}

// An answer is printed as the flags ask; a failure to print has its own exit code.
func TestPrintedForms(t *testing.T) {
	for _, c := range []struct {
		words, stdout string
		kind          wire.Kind
		text          string
	}{
		{"", `text of {"a":[1,"x"]}` + "\n", wire.OK, ""},
		{"--json", `{"a":[1,"x"]}` + "\n", wire.OK, ""},
		{"--wire", `{"a":[1,"x"]}` + "\n", wire.OK, ""},
		{"--jq .a[1]", "x\n", wire.OK, ""},
		{"--wire --jq .a", `[1,"x"]` + "\n", wire.OK, ""},
		{"--jq .a[", "", wire.Usage, "--jq: "},
		{"--jq .a.b", "", wire.Usage, "--jq: "},
	} {
		f, stdout, _ := answering(t, strings.Fields(c.words)...)
		err := Show(t.Context(), f, wire.Outcome{}, document(`{"a":[1,"x"]}`))
		if got := exitErrorOf(err).Outcome; stdout.String() != c.stdout || got.Kind != c.kind ||
			!strings.HasPrefix(got.Text, c.text) {
			t.Errorf("%s: got %q, %q %q", c.words, stdout, got.Kind, got.Text)
		}
	}
}

// Only some outcomes have an answer.
func TestEndingsWithAnAnswer(t *testing.T) {
	for _, c := range []struct {
		kind        wire.Kind
		plain, wire bool
	}{
		{wire.OK, true, true},
		{wire.ToolError, true, true},
		{wire.OutputInvalid, true, true},
		{
			wire.InputRequired, true,
			true,
		},
		{wire.CheckFailed, true, true},
		{wire.RPCFailed, false, true},
		{wire.Timeout, false, false},
		{
			wire.Usage, false,
			false,
		},
	} {
		f, stdout, _ := answering(t)
		err := Show(t.Context(), f, wire.Outcome{Kind: c.kind}, document("{}"))
		f.Wire = true
		if (stdout.Len() > 0) != c.plain || f.HasAnswer(wire.Outcome{Kind: c.kind}) != c.wire || KindOf(err) != c.kind {
			t.Errorf("%s: printed %q, with --wire %v, ended %q", c.kind, stdout, f.HasAnswer(wire.Outcome{Kind: c.kind}),
				KindOf(err))
		}
	}
}

// Each line of a stream is one document; an expression that is interrupted is no usage error.
func TestLinesOfAStream(t *testing.T) {
	for _, c := range []struct {
		words, stdout string
		kind          wire.Kind
	}{
		{"", "{\"a\":\"b\"}\n", wire.OK}, {"--jq .a", "b\n", wire.OK}, {"--jq .a.b", "", wire.Usage},
	} {
		f, stdout, _ := answering(t, strings.Fields(c.words)...)
		err := PrintLine(t.Context(), f, []byte("{\"a\":\n\"b\"}"))
		if stdout.String() != c.stdout || KindOf(err) != c.kind {
			t.Errorf("%s: got %q, %q", c.words, stdout, KindOf(err))
		}
	}
}

// A saved answer is whole, and the note has its size.
func TestAnswersInFiles(t *testing.T) {
	for _, c := range []struct{ words, content string }{
		{"--json", "{\"a\":1}\n"}, {"--jq .a", "1\n"}, {"--wire", "{\"a\":1}\n"},
	} {
		name := filepath.Join(t.TempDir(), "answer")
		f, stdout, stderr := answering(t, append(strings.Fields(c.words), "-o", name)...)
		err := Print(t.Context(), f, document(`{"a":1}`))
		content, _ := os.ReadFile(name)
		if note := fmt.Sprintf("mcpc: note: %d bytes saved to %s\n", len(c.content), name); err != nil ||
			string(content) != c.content || stderr.String() != note || stdout.Len() > 0 {
			t.Errorf("%s: %v, file %q, stdout %q, stderr %q", c.words, err, content, stdout, stderr)
		}
	}
	f, stdout, _ := answering(t, "--json", "-o", filepath.Join(t.TempDir(), "none", "answer"))
	if err := Print(t.Context(), f, document(`{"a":1}`)); KindOf(err) != wire.LocalIO || stdout.String() != "{\"a\":1}\n" {
		t.Errorf("the answer is lost with its file: %v, %q", err, stdout)
	}
	f, stdout, stderr := answering(t, "-o", filepath.Join(t.TempDir(), "answer"))
	err := f.WriteOut(func(w io.Writer) error { _, err := io.WriteString(w, "abc"); return err })
	if err != nil || stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), "mcpc: note: 3 bytes saved to ") {
		t.Errorf("%v, %q, %q", err, stdout, stderr)
	}
}

// A cut answer has no more characters than --max-chars, and a note about the missing part.
func TestCutAnswers(t *testing.T) {
	long := strings.Repeat("abcde ", 50)
	for _, c := range []struct {
		words, raw, note string
		most             int
	}{
		{"", `"short"`, "", 20},
		{"", `"` + long + `"`, "omit --max-chars, or use -o FILE", 135},
		{"--json", `{"a":"` + long + `"}`, "omit --max-chars, or use -o FILE", 130},
		{"--json", `{"a":1}`, "", 10},
		{"--jq .[]", `["` + long + `","b"]`, "omit --max-chars, or use -o FILE", 135},
		{"--jq .[]", `["a",2]`, "", 4},
		{"--jq .[]", `[{"a":"` + long + `"},"` + long + `",1]`, "omit --max-chars, or use -o FILE", 140},
	} {
		f, stdout, stderr := answering(t, append(strings.Fields(c.words), "--max-chars", "100")...)
		if err := Print(t.Context(), f, document(c.raw)); err != nil {
			t.Errorf("%s %s: %v", c.words, c.raw, err)
		}
		if stdout.Len() == 0 || stdout.Len() > c.most || (stderr.Len() > 0) != (c.note != "") ||
			!strings.Contains(stderr.String(), c.note) {
			t.Errorf("%s %.20s: got %d characters, %q, and %q", c.words, c.raw, stdout.Len(), stdout, stderr)
		}
	}
	f, _, _ := answering(t, "--jq", ".a[", "--max-chars", "100")
	if err := Print(t.Context(), f, document("{}")); KindOf(err) != wire.Usage {
		t.Error(err)
	}
	f, _, _ = answering(t, "--jq", ".a.b", "--max-chars", "100")
	if err := Print(t.Context(), f, document(`{"a":1}`)); KindOf(err) != wire.Usage {
		t.Error(err)
	}
}

// Names are not cut: an object with too many of them is refused.
func TestObjectsThatCannotBeCut(t *testing.T) {
	var members []string
	for n := range 100 {
		members = append(members, fmt.Sprintf(`"name%d":%d`, n, n))
	}
	f, _, _ := answering(t, "--json", "--max-chars", "100")
	err := Print(t.Context(), f, document("{"+strings.Join(members, ",")+"}"))
	if got := exitErrorOf(err).Outcome; got.Kind != wire.Usage || !strings.Contains(got.Text, "cannot be cut to 100") {
		t.Errorf("got %q %q", got.Kind, got.Text)
	}
}

// A text is written also if the pager cannot be started.
func TestPagersThatCannotBeStarted(t *testing.T) {
	f, stdout, stderr := answering(t)
	f.OutStyle.Terminal = true
	f.OutStyle.Height = 2
	f.Environ = func() []string { return nil }
	f.Getenv = func(name string) string { return map[string]string{"PAGER": filepath.Join(t.TempDir(), "none")}[name] }
	if err := f.WritePaged([]byte("1\n2\n3\n")); err != nil || stdout.String() != "1\n2\n3\n" ||
		!strings.Contains(stderr.String(), "cannot be started") {
		t.Errorf("%v, %q, %q", err, stdout, stderr)
	}
}
