package cmdutil

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/wire"
)

func named(pairs ...string) (files ReportFiles) {
	for i := 0; i < len(pairs); i += 2 {
		flag := pairs[i]
		files = append(files, ReportFile{Flag: flag, Name: pairs[i+1], Write: func(w io.Writer) error {
			_, err := io.WriteString(w, "report of "+flag)
			return err
		}})
	}
	return files
}

// One report goes to standard output.
func TestReportsOnStdout(t *testing.T) {
	for _, c := range []struct {
		files    ReportFiles
		document bool
		want     string
		first    string
	}{
		{named("--junit", "", "--sarif", "x"), true, "", ""},
		{named("--junit", "-", "--sarif", "x"), false, "", "--junit"},
		{named("--junit", "x", "--sarif", "-"), false, "", "--sarif"},
		{named("--junit", "-", "--sarif", "-"), false, "only one report can go to stdout: --junit or --sarif -", "--junit"},
		{named("--junit", "-"), true, "only one report can go to stdout: --json or --junit -", "--junit"},
	} {
		got := ""
		if err := c.files.CheckStdout(c.document); err != nil {
			got = err.Error()
		}
		first := ""
		if file := c.files.OnStdout(); file != nil {
			first = file.Flag
		}
		if got != c.want || first != c.first {
			t.Errorf("%v: got %q, %q", c.files, got, first)
		}
	}
}

// Each report goes to its file; a SARIF report of a judgement that is not whole goes nowhere.
func TestReportsInFiles(t *testing.T) {
	dir := t.TempDir()
	junit, sarif := filepath.Join(dir, "junit"), filepath.Join(dir, "sarif")
	var stdout, stderr bytes.Buffer
	f := New(strings.NewReader(""), &stdout, &stderr)
	f.Now, f.Getenv = time.Now, func(string) string { return "" }
	f.SettleStyles()
	files := named("--junit", junit, "--sarif", sarif, "--badge", "", "--markdown", "-")
	if out := files.CheckWritable(); !out.OK() {
		t.Fatal(out.Text)
	}
	files = files.WithholdSARIF(f)
	if err := files.Write(); err != nil {
		t.Fatal(err)
	}
	if err := files.OnStdout().Print(f); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(junit)
	if string(text) != "report of --junit" || stdout.String() != "report of --markdown" {
		t.Errorf("got %q in the file and %q", text, stdout.String())
	}
	if _, err := os.Stat(sarif); err == nil || strings.Count(stderr.String(), "no SARIF report was written") != 1 {
		t.Errorf("the SARIF report: %v, %q", err, stderr.String())
	}
	stdout.Reset()
	if err := (ReportFile{Withheld: true}).Print(f); err != nil || stdout.Len() > 0 {
		t.Errorf("a withheld report: %v, %q", err, stdout.String())
	}
}

// A file that cannot be written is known before anything is sent.
func TestFilesThatCannotBeWritten(t *testing.T) {
	files := named("--junit", "-", "--sarif", filepath.Join(t.TempDir(), "none", "x"))
	if out := files.CheckWritable(); out.Kind != wire.LocalIO || !strings.HasPrefix(out.Text, "--sarif: no such directory: ") {
		t.Errorf("got %q %q", out.Kind, out.Text)
	}
	if err := files.Write(); KindOf(err) != wire.LocalIO {
		t.Errorf("got %v", err)
	}
}
