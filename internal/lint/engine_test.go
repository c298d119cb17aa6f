package lint_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"mcpc/internal/lint"
	"mcpc/internal/lint/conv"
	"mcpc/internal/lint/rules"
	"mcpc/internal/wire"
)

// A rule without a gate would judge servers by what they never declared.
func TestEveryRuleHasItsGate(t *testing.T) {
	seen := map[string]bool{}
	modes := map[lint.Mode]int{}
	for _, r := range lint.Rules() {
		if seen[r.ID] {
			t.Errorf("%s stands twice", r.ID)
		}
		seen[r.ID] = true
		modes[r.Mode]++
		if r.From > r.To || r.From == conv.Unknown && r.To != conv.Rev20260728 {
			t.Errorf("%s: revisions %d to %d", r.ID, r.From, r.To)
		}
		for what, known := range map[string]bool{
			"severity":   slices.Contains([]conv.Severity{conv.Error, conv.Warn, conv.Info}, r.Severity),
			"mode":       slices.Contains([]lint.Mode{lint.Passive, lint.Safe, lint.Negative, lint.Calls, lint.Fuzz}, r.Mode),
			"transport":  slices.Contains([]string{"any", "stdio", "http", "streamable", "sse"}, r.Transport),
			"capability": slices.Contains([]string{"any", "tools", "prompts", "resources", "logging", "completions", "tasks"}, r.Capability),
			"text":       r.Title != "" && r.Fix != "" && r.Source != "" && len(r.Tags) > 0 && r.Tags[0] != "",
		} {
			if !known {
				t.Errorf("%s: %s: %+v", r.ID, what, r)
			}
		}
	}
	for _, c := range rules.All(tools) {
		if c.ID != "" && !seen[c.ID] {
			t.Errorf("internal/lint/rules has a check of %s, which internal/lint/rules.txt does not have", c.ID)
		}
	}
	want := map[lint.Mode]int{lint.Passive: 133 + 14, lint.Safe: 30 + 1, lint.Negative: 36, lint.Calls: 12, lint.Fuzz: 5}
	if diff := cmp.Diff(want, modes); diff != "" {
		t.Errorf("internal/lint/rules.txt has other numbers of rules than this test: if that is right, change want\n%s", diff)
	}
}

func TestTableErrors(t *testing.T) {
	good := "L1 error P all any any x\n  rule: R.\n  fix: f\n  source: s\n"
	if _, err := lint.ParseRules(good); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"L1 error P all any any", "L1 error P 27 any any x", "L1 error P 25a-27 any any x", "  rule: R.", good + "  what: x"} {
		if _, err := lint.ParseRules(text); err == nil {
			t.Errorf("no error: %q", text)
		}
	}
}

// The catalogue is the source of severities, modes and revisions; it is not a part of the
// repository.
func TestTableAgreesWithTheCatalogue(t *testing.T) {
	name := filepath.Join("..", "..", "..", "shared", "spec", "SERVER-LINT.md")
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the catalogue of rules is not at " + name)
	}
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| (L\d+) \| (\w+) \| ([\w-]+) \|`).FindAllStringSubmatch(string(text), -1)
	if len(row) != 210 {
		t.Fatalf("%d rows", len(row))
	}
	// The requirement of L034 binds only the client.
	severities := map[string]string{"L034": "info"}
	for _, r := range row {
		want := r[2]
		if own, ok := severities[r[1]]; ok {
			want = own
		}
		if got, ok := lint.Find(r[1]); !ok || string(got.Severity) != want || string(got.Mode) != r[3] {
			t.Errorf("%v: %+v", r, got)
		}
	}
}

func TestPageOfRule(t *testing.T) {
	for _, test := range []struct {
		rule string
		rev  conv.Rev
		want string
	}{
		{"L003", conv.Rev20250618, "2025-06-18/basic/index"},
		{"L002", conv.Rev20241105, "2024-11-05/basic/messages"},
		{"L002", conv.Rev20260728, "2026-07-28/basic/index"},
		{"L019", conv.Rev20251125, "2025-11-25/basic/transports"},
		{"L019", conv.Rev20260728, "2026-07-28/basic/transports/stdio"},
		{"L054", conv.Rev20260728, "2026-07-28/basic/index"},
		{"L010", conv.Rev20251125, "schema/2025-11-25/schema.json"},
		{"L003", conv.Unknown, "2026-07-28/basic/index"},
	} {
		if r, _ := lint.Find(test.rule); r.Page(test.rev) != test.want {
			t.Errorf("%s %s: %s", test.rule, test.rev, r.Page(test.rev))
		}
	}
}

func TestVerdicts(t *testing.T) {
	frames, err := parse("stdio\nlegacy 2025-11-25 {\"prompts\":{}}\n> ping\n< {\"_meta\":{\"-x/y\":1}}\n")
	if err != nil {
		t.Fatal(err)
	}
	r := judge(frames, lint.Options{Off: []string{"L003"}})
	got := map[string]string{}
	for _, j := range r.Judgements {
		got[j.ID] = strings.TrimSpace(string(j.Verdict) + " " + j.Why)
	}
	for id, want := range map[string]string{
		"L001": "pass",
		"L003": "not run switched off",
		"L008": "not run needs malformed requests: --negative",
		"L017": "info",
		"L022": "not run needs requests of its own: check a server",
		"L051": "not run needs a tool call: --call",
		"L054": "not applicable holds for 2026-07-28, not for 2025-11-25",
		"L098": "not applicable nothing to check: server-sent event",
		"L106": "not applicable nothing to check: tool",
		"L119": "not applicable nothing to check: result (tools/call, tasks/result)",
		"L081": "not applicable nothing to check: HTTP response",
	} {
		if got[id] != want {
			t.Errorf("%s: %q, not %q", id, got[id], want)
		}
	}
	counts := r.Counts()
	if counts[lint.Informed] != 1 || counts[lint.Fail] != 0 || counts[lint.Pass] == 0 {
		t.Error(counts)
	}
}

// Capabilities that were not declared, and a transport that was not used.
func TestWhatWasNotDeclaredIsNotJudged(t *testing.T) {
	frames, err := parse("stdio\nlegacy 2025-11-25 {}\n> tools/list\n< {\"tools\":[{\"name\":\"a b\",\"inputSchema\":null}]}\n")
	if err != nil {
		t.Fatal(err)
	}
	r := judge(frames, lint.Options{})
	for _, j := range r.Judgements {
		if j.ID == "L106" && (j.Verdict != lint.NotApplicable || j.Why != "the server does not declare tools") {
			t.Errorf("%+v", j)
		}
	}
}

func TestRulesWithoutTheirToolsAreNotRun(t *testing.T) {
	l := lint.New(lint.Options{})
	for _, j := range l.Report().Judgements {
		if isSchema := slices.Contains([]string{"L010", "L107", "L120"}, j.ID); isSchema && (j.Verdict != lint.NotRun || !strings.HasPrefix(j.Why, "needs ")) {
			t.Errorf("%+v", j)
		}
		if j.Rule.Mode == lint.Passive && j.Why == "not implemented" {
			t.Errorf("%s has no check: add one to a table of internal/lint/rules", j.ID)
		}
	}
}

// Each transcript gives the same findings as exchanges, as frames and while it runs.
func TestExchangesAndFramesAgree(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	// Exchanges lack noise before the first request, batches of one, and streams without a message,
	// such as streams of a login.
	lost := []string{"L007", "L019", "L020", "L023", "L096", "L098", "L103", "L104", "L105", "L205", "L209", "L210"}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range archive.Files {
			name := strings.TrimSuffix(filepath.Base(file), ".txtar") + "/" + part.Name
			frames, err := parse(string(part.Data))
			if err != nil {
				t.Fatal(err)
			}
			var live []string
			one := judge(frames, lint.Options{Found: func(f lint.Finding) { live = append(live, f.Rule) }})
			other := lint.Judge(wire.GroupFrames(frames), lint.Options{Tools: tools})
			if slices.Sort(live); !slices.Equal(slices.Compact(live), brokenRules(one)) {
				t.Errorf("%s: live %v, in the end %v", name, live, brokenRules(one))
			}
			if !slices.Equal(brokenRules(one), brokenRules(other)) && !(slices.Contains(lost, name[:4]) && len(brokenRules(other)) == 0) {
				t.Errorf("%s: frames %v, exchanges %v", name, brokenRules(one), brokenRules(other))
			}
		}
	}
}

func TestSelect(t *testing.T) {
	ids, err := lint.Select("L003", "poison")
	if err != nil || !slices.Equal(ids, []string{"L003", "L129", "poison-names", "poison-secrets", "poison-size"}) {
		t.Error(ids, err)
	}
	if _, err := lint.Select("poisn"); err == nil || !strings.Contains(err.Error(), "poison") {
		t.Error(err)
	}
}

func TestProbesAreAdded(t *testing.T) {
	l := lint.New(lint.Options{})
	l.Add("L043")
	l.Add("L061", lint.Finding{Rule: "L061", Severity: conv.Error, Evidence: []lint.Evidence{{Seq: 3}}})
	l.Add("L062", lint.Finding{Rule: "L062", Severity: conv.Error})
	l.Add("none")
	l.Skip("L063", "HTTP 429")
	l.Skip("L043", "HTTP 429") // which was judged
	l.Exempt("L064", "holds for HTTP")
	l.Exempt("L043", "holds for HTTP")
	got := map[string]string{}
	for _, j := range l.Report().Judgements {
		got[j.ID] = strings.TrimSpace(string(j.Verdict) + " " + j.Why)
	}
	for id, want := range map[string]string{
		"L043": "pass", "L061": "fail", "L062": "pass", "L063": "not run HTTP 429",
		"L064": "not applicable holds for HTTP",
	} {
		if got[id] != want {
			t.Errorf("%s: %s", id, got[id])
		}
	}
	if len(l.Report().Findings) != 1 {
		t.Error(l.Report().Findings)
	}
}

// A refusal of a probe that has no id is judged by the revision that the server agrees on afterwards.
func TestRefusedProbesAreJudgedByTheSessionsRevision(t *testing.T) {
	raw := []string{
		`>{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`<{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}`,
		`>{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`<{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`,
	}
	for n, want := range map[int][2]string{4: {"2025-06-18/basic/index", "2025-06-18"}, 2: {"2026-07-28/basic/index", ""}} {
		var frames []wire.Frame
		for i, line := range raw[:n] {
			dir := wire.Sent
			if line[0] == '<' {
				dir = wire.Received
			}
			frames = append(frames, wire.Frame{Seq: uint64(i + 1), Dir: dir, Raw: []byte(line[1:])})
		}
		i := slices.IndexFunc(judge(frames, lint.Options{}).Findings, func(f lint.Finding) bool { return f.Rule == "L004" })
		if i < 0 {
			t.Fatalf("%d frames: no finding", n)
		}
		f := judge(frames, lint.Options{}).Findings[i]
		if got := [2]string{f.Source, f.Revision}; got != want {
			t.Errorf("%d frames: %q", n, got)
		}
	}
}

// A finding keeps its fingerprint when other tools come and go.
func TestFingerprintsAreStable(t *testing.T) {
	prints := map[string]bool{}
	for _, list := range []string{`{"name":"bad",$D}`, `{"name":"t",$S},{"name":"bad",$D}`} {
		frames, err := parse("stdio\nlegacy 2025-11-25 {\"tools\":{}}\n> tools/list\n< {\"tools\":[" + list + "]}\n")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range judge(frames, lint.Options{}).Findings {
			prints[f.Fingerprint] = true
			if f.Rule == "L106" && f.Evidence[0].Pointer != "/result/tools/"+map[bool]string{true: "1", false: "0"}[strings.Contains(list, `"t"`)]+"/inputSchema" {
				t.Errorf("%+v", f.Evidence)
			}
		}
	}
	if !prints["L106 tool bad /inputSchema"] || len(prints) != 1 {
		t.Error(prints)
	}
}

// A proxy sees each stateless request on a separate connection, and several clients at the same
// time. The server's declaration applies to all of them.
func TestRequestsThatStandAloneAreOneConversation(t *testing.T) {
	const tool = `{"name":"%","title":"T","description":"D.","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}`
	page := func(name, cursor string) string {
		return "< {\"tools\":[" + strings.Replace(tool, "%", name, 1) + "]" + cursor + "}\n"
	}
	text := "http\nmodern {\"tools\":{}}\n" +
		"> tools/list\n" + page("a", `,"nextCursor":"1"`) + "> tools/list\n" + page("a", `,"nextCursor":"1"`) +
		"> tools/list {\"cursor\":\"1\"}\n" + page("b", "") + "> tools/list {\"cursor\":\"1\"}\n" + page("b", "") +
		"> tools/call {\"name\":\"b\"}\n"
	for result, want := range map[string][]string{
		`{"content":[{"type":"text","text":"{}"}],"structuredContent":{}}`: nil,
		`{"content":[{"type":"text","text":"1"}],"structuredContent":1}`:   {"L120"},
	} {
		frames, err := parse(text + "< " + result + "\n")
		if err != nil {
			t.Fatal(err)
		}
		for i := range frames {
			frames[i].Conn = frames[i].Stream
		}
		r := judge(frames, lint.Options{})
		if got := brokenRules(r); !slices.Equal(got, want) {
			t.Errorf("%v, not %v: %+v", got, want, r.Findings)
		}
		if len(r.Findings) == 1 && r.Findings[0].Evidence[0].Conn != 6 {
			t.Errorf("%+v", r.Findings[0])
		}
	}
}

// Exchanges divide a batch, which is joined again.
func TestBatchesOfExchanges(t *testing.T) {
	frames, err := parse("stdio\nlegacy 2025-06-18 {}\n> ping\n> ping\n> ping\n" +
		`<< [{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":3,"result":{}},{"jsonrpc":"2.0","id":4,"result":{}}]`)
	if err != nil {
		t.Fatal(err)
	}
	if r := lint.Judge(wire.GroupFrames(frames), lint.Options{}); !slices.Equal(brokenRules(r), []string{"L007"}) {
		t.Error(r.Findings)
	}
}

// Many connections at once: the oldest conversations are ended, and judged.
func TestManyConnections(t *testing.T) {
	frames, err := parse("http\nlegacy 2025-11-25 {\"tools\":{}}\n> tools/list\n< {\"tools\":[],\"nextCursor\":\"1\"}\n")
	if err != nil {
		t.Fatal(err)
	}
	l := lint.New(lint.Options{})
	for conn := range 1000 {
		for _, f := range frames {
			f.Conn = conn
			l.Tap(f)
		}
	}
	before := len(l.Report().Findings)
	l.Close()
	f := l.Report().Findings
	if before != 1 || len(f) != 1 || f[0].Rule != "client-cursor" || f[0].Times != 1000 || len(f[0].Evidence) != 5 {
		t.Errorf("%d, %+v", before, f)
	}
}

// A file may have several runs, and each numbers its requests from 1.
func TestRunsOneAfterTheOther(t *testing.T) {
	frames, err := parse("stdio\nlegacy 2025-11-25 {}\n> ping\n< {}\n")
	if err != nil {
		t.Fatal(err)
	}
	if r := judge(append(frames[:len(frames):len(frames)], frames...), lint.Options{}); len(r.Findings) > 0 {
		t.Error(r.Findings)
	}
}

// Quotes from a hostile server are short, however often it sends a text.
func TestFindingsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("stdio\nlegacy 2025-11-25 {\"tools\":{}}\n")
	for i := range 3000 {
		b.WriteString("noise " + strings.Repeat("x", 300) + "\n<~ " + strings.Repeat("y", i%7) + "/m {\"_meta\":{\"-" + strings.Repeat("z", i) + "\":1}}\n")
	}
	frames, err := parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	r := judge(frames, lint.Options{})
	if len(r.Findings) > 1010 {
		t.Errorf("%d findings", len(r.Findings))
	}
	for _, f := range r.Findings {
		if len(f.Evidence) > 5 || len(f.Evidence[0].Got) > 260 || len(f.Fingerprint) > 260 {
			t.Errorf("%d: %s", len(f.Evidence), f.Evidence[0].Got)
		}
	}
}

// talk are n exchanges of a usual kind.
func talk(n int) []wire.Frame {
	var b strings.Builder
	b.WriteString("http\nmodern {\"tools\":{}}\n> tools/list\n< {\"tools\":[{\"name\":\"t\",$S,\"outputSchema\":{\"type\":\"object\"}}]}\n")
	for range n {
		b.WriteString("> tools/call {\"name\":\"t\",\"_meta\":{\"progressToken\":\"a\"}}\nstream\n" +
			"< {\"content\":[{\"type\":\"text\",\"text\":\"{\\\"a\\\":1}\"}],\"structuredContent\":{\"a\":1}}\n")
	}
	frames, err := parse(b.String())
	if err != nil {
		panic(err)
	}
	return frames
}

func BenchmarkJudge(b *testing.B) {
	frames := talk(10_000)
	for b.Loop() {
		if r := judge(frames, lint.Options{}); len(r.Findings) > 0 {
			b.Fatal(r.Findings)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/10000-exchanges")
}

func FuzzLint(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			f.Add(string(part.Data))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		frames, err := parse(text)
		if err != nil {
			return
		}
		for _, finding := range judge(frames, lint.Options{Run: "7"}).Findings {
			if len(finding.Evidence) == 0 {
				t.Error(finding)
			}
		}
	})
}
