package lint_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"mcpc/internal/lint"
	"mcpc/internal/lint/conv"
	"mcpc/internal/lint/rules"
	"mcpc/internal/shape"
	"mcpc/internal/validate"
	"mcpc/internal/wire"
)

// tools are what package lint takes of others.
var tools = rules.Tools{
	Shape: shape.CheckBut,
	Compile: func(schema []byte) (rules.Schema, []wire.Finding, *rules.SchemaFault) {
		s, warnings, err := validate.Compile(schema)
		if failed, ok := errors.AsType[*validate.Error](err); ok {
			return nil, nil, &rules.SchemaFault{Reason: string(failed.Reason), Where: failed.Where, Text: failed.Text}
		}
		return s, warnings, nil
	},
}

func judge(frames []wire.Frame, o lint.Options) lint.Report {
	o.Tools = tools
	l := lint.New(o)
	for _, f := range frames {
		l.Tap(f)
	}
	l.Close()
	return l.Report()
}

// brokenRules returns the rules with findings, sorted.
func brokenRules(r lint.Report) (ids []string) {
	for _, f := range r.Findings {
		if !slices.Contains(ids, f.Rule) {
			ids = append(ids, f.Rule)
		}
	}
	slices.Sort(ids)
	return ids
}

// Each file of testdata is named after a rule, and has transcripts that break exactly that rule
// (breaks...) and transcripts that break no rule (keeps...), although the rule was judged. A name
// that ends in -error, -warn or -info has the severity of the findings, else they have the rule's.
// A line "also RULE" in the comment names a rule that cannot be kept then.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	tested := map[string]bool{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		id := strings.TrimSuffix(filepath.Base(file), ".txtar")
		var also []string
		for line := range strings.Lines(string(archive.Comment)) {
			if name, ok := strings.CutPrefix(line, "also "); ok {
				also = append(also, strings.TrimSpace(name))
			}
		}
		for _, part := range archive.Files {
			tested[id+" "+part.Name[:5]] = true
			t.Run(id+"/"+part.Name, func(t *testing.T) {
				testTranscript(t, id, part.Name, string(part.Data), also)
			})
		}
	}
	for _, j := range judge(nil, lint.Options{}).Judgements {
		if r := j.Rule; r.Mode == lint.Passive && (!tested[r.ID+" break"] || !tested[r.ID+" keeps"]) {
			t.Errorf("%s: internal/lint/testdata/%[1]s.txtar has no transcript that breaks it, or none that keeps it", r.ID)
		}
	}
}

var write = flag.Bool("findings", false, "write testdata/findings.txt")

// The findings in each transcript, with their places.
func TestFindingsOfTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range archive.Files {
			frames, err := parse(string(part.Data))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range judge(frames, lint.Options{}).Findings {
				fmt.Fprintf(&got, "%s/%s: %s (%s)\n", strings.TrimSuffix(filepath.Base(file), ".txtar"), part.Name, f.Fingerprint, f.Severity)
				for _, e := range f.Evidence {
					fmt.Fprintf(&got, "  %d %s\n    got  %s\n    want %s\n", e.Seq, e.Pointer, e.Got, e.Want)
				}
			}
		}
	}
	if *write {
		if err := os.WriteFile("testdata/findings.txt", []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/findings.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("write testdata/findings.txt with go test ./internal/lint -findings, if this is right\n%s", diff)
	}
}

func testTranscript(t *testing.T, id, name, text string, also []string) {
	frames, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	report := judge(frames, lint.Options{Run: "7"})
	got := slices.DeleteFunc(brokenRules(report), func(id string) bool { return slices.Contains(also, id) })
	want := []string{id}
	if strings.HasPrefix(name, "keeps") {
		want = nil
	}
	if !slices.Equal(got, want) {
		for _, f := range report.Findings {
			t.Logf("%s %s: %+v", f.Fingerprint, f.Severity, f.Evidence)
		}
		t.Errorf("broken are %v, not %v", got, want)
	}
	for _, f := range report.Findings {
		checkFinding(t, f, frames)
	}
	for _, f := range report.Findings {
		rule, _ := lint.Find(id)
		want := rule.Severity
		for _, s := range []conv.Severity{conv.Error, conv.Warn, conv.Info} {
			if strings.HasSuffix(name, "-"+string(s)) {
				want = s
			}
		}
		if f.Rule == id && f.Severity != want {
			t.Errorf("severity %s, not %s: %+v", f.Severity, want, f)
		}
	}
	i := slices.IndexFunc(report.Judgements, func(j lint.Judgement) bool { return j.ID == id })
	if i < 0 {
		t.Fatal("no such rule")
	}
	if v := report.Judgements[i]; v.Verdict == lint.NotRun || want == nil && v.Verdict != lint.Pass && !strings.HasSuffix(name, "-na") {
		t.Errorf("verdict %s: %s", v.Verdict, v.Why)
	}
}

// checkFinding: no evidence, no finding.
func checkFinding(t *testing.T, f lint.Finding, frames []wire.Frame) {
	t.Helper()
	if len(f.Evidence) == 0 || f.Title == "" || f.Fix == "" || f.Source == "" || strings.Contains(f.Source, "*") {
		t.Errorf("incomplete: %+v", f)
	}
	for _, e := range f.Evidence {
		if e.Seq == 0 || e.Seq > uint64(len(frames)) || e.Run != "7" || e.Got == "" || e.Want == "" {
			t.Errorf("%s: evidence %+v", f.Rule, e)
		}
	}
}

// A missing message is not judged if the recording has no end, and the rule is then not run;
// received messages are judged nevertheless.
func TestUnendedRecordings(t *testing.T) {
	for _, file := range []string{"client-cursor", "client-list-changed", "L106"} {
		archive, err := txtar.ParseFile(filepath.Join("testdata", file+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		frames, err := parse(string(archive.Files[0].Data))
		if err != nil {
			t.Fatal(err)
		}
		for _, ended := range []bool{true, false} {
			r := judge(frames, lint.Options{Ended: func(int) bool { return ended }})
			i := slices.IndexFunc(r.Judgements, func(j lint.Judgement) bool { return j.ID == file })
			found, why := slices.Contains(brokenRules(r), file), r.Judgements[i].Why
			if want := ended || file == "L106"; found != want || !found && why != "the recording has no end" {
				t.Errorf("%s, ended %v: found %v, %q", file, ended, found, why)
			}
		}
	}
}

// Rules about clients do not apply to a caller that is the client.
func TestTheCallerIsTheClient(t *testing.T) {
	for _, file := range []string{"client-cursor", "client-list-changed"} {
		archive, err := txtar.ParseFile(filepath.Join("testdata", file+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		frames, err := parse(string(archive.Files[0].Data))
		if err != nil {
			t.Fatal(err)
		}
		r := judge(frames, lint.Options{OwnClient: true})
		i := slices.IndexFunc(r.Judgements, func(j lint.Judgement) bool { return j.ID == file })
		j := r.Judgements[i]
		if slices.Contains(brokenRules(r), file) || j.Verdict != lint.NotApplicable || j.Why != "mcpc is the client" {
			t.Errorf("%s: %+v", file, j)
		}
	}
}

// Found has each place, even if the report counts them as one finding.
func TestFindingsHaveEachPlace(t *testing.T) {
	archive, err := txtar.ParseFile(filepath.Join("testdata", "L003.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	frames, err := parse(string(archive.Files[0].Data))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frames[:len(frames):len(frames)] { // a second connection
		f.Conn++
		frames = append(frames, f)
	}
	times := map[string]int{}
	r := judge(frames, lint.Options{Found: func(f lint.Finding) {
		if len(f.Evidence) != 1 {
			t.Errorf("%d places: %+v", len(f.Evidence), f)
		}
		times[f.Fingerprint]++
	}})
	for _, f := range r.Findings {
		if times[f.Fingerprint] != f.Times || f.Times < 2 {
			t.Errorf("%s: %d times, told %d times", f.Fingerprint, f.Times, times[f.Fingerprint])
		}
	}
	if len(r.Findings) == 0 {
		t.Error("nothing was found")
	}
}
