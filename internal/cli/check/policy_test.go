package check

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/render/verdict"
)

// policyOf reads a rules file and a baseline with these contents, on 2026-03-31.
func policyOf(t *testing.T, rules, baseline string, only ...string) *policy {
	t.Helper()
	dir := t.TempDir()
	o := ruleOptions{only: only}
	for _, file := range []struct {
		name, text string
		path       *string
	}{{"x.mcpc-rules.yaml", rules, &o.file}, {"known.json", baseline, &o.baseline}} {
		if file.text == "" {
			continue
		}
		*file.path = filepath.Join(dir, file.name)
		if err := os.WriteFile(*file.path, []byte(file.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := &cmdutil.Factory{}
	f.Env.Now = func() time.Time { return time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC) }
	p, err := readPolicy(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A setting holds up to the end of the day that it names.
func TestSettingsEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, setting string
		off, expired  bool
	}{
		{"for ever", `off`, true, false},
		{"until tomorrow", `{severity: off, until: 2026-04-01}`, true, false},
		{"until today", `{severity: off, until: 2026-03-31}`, true, false},
		{"until yesterday", `{severity: off, until: 2026-03-30}`, false, true},
	} {
		p := policyOf(t, "rules:\n  L106: "+c.setting+"\n", "")
		if _, off := p.off["L106"]; off != c.off || (len(p.expired) > 0) != c.expired {
			t.Errorf("%s: off %v, expired %q", c.name, p.off, p.expired)
		}
	}
}

// A known finding is stale only if its rule was judged and did not find it.
func TestStaleFindings(t *testing.T) {
	t.Parallel()
	const baseline = `{"mcpc-baseline":1,"findings":[{"fingerprint":"f1","rule":"L106"}]}`
	for _, c := range []struct {
		name, rules, verdict, found string
		only                        []string
		known, stale                bool
	}{
		{name: "found again", verdict: verdict.Error, found: "f1", known: true},
		{name: "another one", verdict: verdict.Error, found: "f2", stale: true},
		{name: "not found", verdict: verdict.Pass, stale: true},
		{name: "not run", verdict: verdict.NotRun},
		{name: "not applicable", verdict: verdict.NotApplicable},
		{name: "switched off", rules: "rules: {L106: off}\n", verdict: verdict.Pass},
		{name: "not asked for", only: []string{"L107"}, verdict: verdict.Pass},
	} {
		r := &verdict.Report{Rules: []verdict.Rule{{ID: "L106", Verdict: c.verdict}}}
		if c.found != "" {
			r.Findings = []verdict.Finding{{Rule: "L106", Severity: verdict.Error, Fingerprint: c.found}}
		}
		policyOf(t, c.rules, baseline, c.only...).apply(r)
		if (len(r.Known) == 1) != c.known || slices.Contains(r.Stale, "f1") != c.stale {
			t.Errorf("%s: known %v, stale %s", c.name, r.Known, strings.Join(r.Stale, ", "))
		}
	}
}
