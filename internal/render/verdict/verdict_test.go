package verdict_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/url"
	"strings"
	"testing"

	"mcpc/internal/render/term"
	"mcpc/internal/render/verdict"
	"mcpc/internal/tests/rendertest"
	"mcpc/internal/validate"
)

func sample() *verdict.Report {
	r := &verdict.Report{
		Command: "check", Version: "1.2.3", Target: "https://x.example/mcp", Revisions: []string{"R1", "R2"}, Recording: "run 42", Run: 42, Requests: 12,
		Lacks: []string{"--negative", "--call"}, Stale: []string{"L118 tool gone /x"}, Notes: []string{"stopped: the server returned HTTP 429"},
		Ladder: []verdict.Rung{
			{Name: "dns", State: verdict.OK, Text: "x.example"},
			{Name: "tls", State: verdict.Failed, Text: "expired", Fix: "renew it"},
			{Name: "http", State: verdict.NotReached},
		},
		Rules: []verdict.Rule{
			{ID: "L106", Verdict: verdict.Pass, Severity: verdict.Error, Title: "A tool has an inputSchema.", Fix: "give it one", Source: "*/server/tools", Tags: []string{"tools"}},
			{ID: "L117", Verdict: verdict.Pass, Severity: verdict.Warn, Title: "No secrets in headers.", Fix: "use no header", Source: "*/server/tools"},
			{ID: "L128", Verdict: verdict.Pass, Severity: verdict.Info, Title: "A tool has a description.", Fix: "describe it", Source: "practice"},
			{ID: "L001", Verdict: verdict.Pass, Title: "JSON-RPC."},
			{ID: "L007", Verdict: verdict.NotApplicable, Why: "none came"},
			{ID: "L008", Verdict: verdict.NotRun, Why: "needs --negative"},
		},
	}
	finding := func(rule, severity, subject, got string) verdict.Finding {
		return verdict.Finding{
			Rule: rule, Severity: severity, Title: "What " + rule + " says.", Subject: subject, Revisions: []string{"R1"}, Source: "R1/page",
			Fix: "mend " + rule, Repeat: "mcpc raw tools/list", Fingerprint: rule + " " + subject,
			Evidence: []verdict.Evidence{{Run: "42", Exchange: "42.3", Seq: 7, Pointer: "/result/tools/0", Got: got, Want: "an object"}},
		}
	}
	r.Findings = []verdict.Finding{
		finding("L128", verdict.Info, "tool a", "none"), finding("L128", verdict.Info, "tool b", "none"),
		finding("L106", verdict.Error, "tool a", `[] <b>|x| `+"`y`"), finding("L117", verdict.Warn, rendertest.HostileText, rendertest.HostileText),
	}
	cell := func(host, word string, reasons ...string) verdict.HostCell {
		return verdict.HostCell{Host: host, Verdict: word, Reasons: reasons}
	}
	r.Hosts = &verdict.Hosts{
		Hosts: []verdict.Host{{ID: "strict", Title: "Strict", Date: "2026-02", Source: "a"}, {ID: "loose", Title: "Loose", Date: "2026-11", Source: "b"}},
		Tools: []verdict.HostTool{
			{Tool: "a", Cells: []verdict.HostCell{cell("strict", "refused", "refused: allOf", "changed: oneOf"), cell("loose", "ok")}},
			{Tool: rendertest.HostileText, Cells: []verdict.HostCell{cell("strict", "refused", "refused: allOf"), cell("loose", "ok")}},
			{Tool: "c", Cells: []verdict.HostCell{cell("strict", "ok"), cell("loose", "ok")}},
		},
	}
	for _, name := range []string{"c", "d", "e", "f", "g"} {
		r.Findings = append(r.Findings, finding("L106", verdict.Error, "tool "+name, "null"))
	}
	r.Judge()
	return r
}

var forms = map[string]func(*verdict.Report, io.Writer) error{
	"report.txt": func(r *verdict.Report, w io.Writer) error { return r.Text(w, term.Style{Width: 100}) },
	"hosts.txt": func(r *verdict.Report, w io.Writer) error {
		r.Hosts.Whole, r.Findings, r.Ladder = true, nil, nil
		return r.Text(w, term.Style{Width: 80})
	},
	"report.md":    (*verdict.Report).Markdown,
	"report.xml":   (*verdict.Report).JUnit,
	"report.svg":   (*verdict.Report).Badge,
	"report.sarif": func(r *verdict.Report, w io.Writer) error { return r.SARIF(w, "", nil) },
	"report.json": func(r *verdict.Report, w io.Writer) error {
		_, err := w.Write(append(r.JSON(), '\n'))
		return err
	},
}

// Each form has a golden file; text from a server has no effect in any form.
func TestFormsGolden(t *testing.T) {
	for name, write := range forms {
		var b bytes.Buffer
		if err := write(sample(), &b); err != nil {
			t.Fatal(err)
		}
		rendertest.Golden(t, name, b.Bytes())
		if name != "report.json" { // which the printer of JSON makes visible
			rendertest.AssertVisible(t, b.String())
		}
		var broken io.Writer = failing{}
		if err := write(sample(), broken); err == nil {
			t.Errorf("%s: a failure to write is not reported", name)
		}
	}
}

// Only a run can be shown by its number, not a file with the name of one.
func TestReportNamesTheRun(t *testing.T) {
	for run, want := range map[int]string{0: "t, evidence in run 42\n", 42: "t, evidence in run 42 (mcpc log run:42)\n"} {
		var b bytes.Buffer
		r := &verdict.Report{Target: "t", Recording: "run 42", Run: run}
		if err := r.Text(&b, term.Style{}); err != nil || !strings.HasSuffix(b.String(), want) {
			t.Errorf("run %d: %q, %v", run, b.String(), err)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestJudge(t *testing.T) {
	r := sample()
	if got, want := r.Summary(), "error 1, warn 1, info 1; 1 passed, 1 not applicable, 1 not run (--negative, --call)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if r.Findings[0].Severity != verdict.Error || r.Findings[len(r.Findings)-1].Severity != verdict.Info || r.Worst() != 3 {
		t.Error("not sorted")
	}
	r.Findings = nil
	r.Judge()
	if r.Count(verdict.Pass) != 4 || r.Worst() != 0 {
		t.Error(r.Summary())
	}
}

// sarifSchema is the part of SARIF 2.1.0 that is written: the members, the types and the words
// that it allows.
const sarifSchema = `{"$ref":"#/$defs/log","$defs":{
"log":{"type":"object","additionalProperties":false,"required":["version","runs"],"properties":{"$schema":{"type":"string"},"version":{"enum":["2.1.0"]},"runs":{"type":"array","items":{"$ref":"#/$defs/run"}}}},
"run":{"type":"object","additionalProperties":false,"required":["tool"],"properties":{"automationDetails":{"type":"object","additionalProperties":false,"required":["id"],"properties":{"id":{"type":"string"}}},"tool":{"$ref":"#/$defs/tool"},"results":{"type":"array","items":{"$ref":"#/$defs/result"}},"invocations":{"type":"array","items":{"$ref":"#/$defs/invocation"}}}},
"invocation":{"type":"object","additionalProperties":false,"required":["executionSuccessful"],"properties":{"executionSuccessful":{"type":"boolean"},"toolExecutionNotifications":{"type":"array","items":{"$ref":"#/$defs/notification"}}}},
"notification":{"type":"object","additionalProperties":false,"required":["message"],"properties":{"message":{"$ref":"#/$defs/text"},"level":{"enum":["none","note","warning","error"]}}},
"tool":{"type":"object","additionalProperties":false,"required":["driver"],"properties":{"driver":{"$ref":"#/$defs/component"}}},
"component":{"type":"object","additionalProperties":false,"required":["name"],"properties":{"name":{"type":"string"},"version":{"type":"string"},"rules":{"type":"array","uniqueItems":true,"items":{"$ref":"#/$defs/descriptor"}}}},
"descriptor":{"type":"object","additionalProperties":false,"required":["id"],"properties":{"id":{"type":"string"},"shortDescription":{"$ref":"#/$defs/text"},"fullDescription":{"$ref":"#/$defs/text"},"help":{"$ref":"#/$defs/text"},
  "defaultConfiguration":{"type":"object","additionalProperties":false,"properties":{"level":{"$ref":"#/$defs/level"}}},
  "properties":{"type":"object","properties":{"tags":{"type":"array","uniqueItems":true,"items":{"type":"string"}}}}}},
"text":{"type":"object","additionalProperties":false,"required":["text"],"properties":{"text":{"type":"string"},"markdown":{"type":"string"}}},
"level":{"enum":["none","note","warning","error"]},
"result":{"type":"object","additionalProperties":false,"required":["message"],"properties":{"ruleId":{"type":"string"},"ruleIndex":{"type":"integer","minimum":-1},"level":{"$ref":"#/$defs/level"},
  "message":{"$ref":"#/$defs/text"},"locations":{"type":"array","items":{"$ref":"#/$defs/location"}},"partialFingerprints":{"type":"object","additionalProperties":{"type":"string"}},"properties":{"type":"object","properties":{"tags":{"type":"array"}}}}},
"location":{"type":"object","additionalProperties":false,"properties":{
  "physicalLocation":{"type":"object","additionalProperties":false,"properties":{"artifactLocation":{"type":"object","additionalProperties":false,"properties":{"uri":{"type":"string","format":"uri-reference"}}},
    "region":{"type":"object","additionalProperties":false,"properties":{"startLine":{"type":"integer","minimum":1}}}}},
  "logicalLocations":{"type":"array","uniqueItems":true,"items":{"type":"object","additionalProperties":false,"properties":{"fullyQualifiedName":{"type":"string"}}}}}}
}}`

// The output conforms to SARIF: with findings and without, with a source and without, and for a
// rule that the report does not list.
func TestSARIFKeepsToItsSchema(t *testing.T) {
	schema, _, err := validate.Compile([]byte(sarifSchema))
	if err != nil {
		t.Fatal(err)
	}
	unlisted := sample()
	unlisted.Rules = nil
	for name, r := range map[string]*verdict.Report{"sample": sample(), "empty": {Target: "a b"}, "unlisted": unlisted} {
		for _, source := range []string{"", "dir/my server.ts"} {
			var b bytes.Buffer
			if err := r.SARIF(&b, source, []byte("x")); err != nil {
				t.Fatal(err)
			}
			if found, err := schema.Check(b.Bytes()); err != nil || len(found) > 0 {
				t.Errorf("%s: %v %v\n%s", name, err, found, b.String())
			}
		}
	}
	broken := `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x"}},"results":[{"message":{"text":""},"level":"warn"}]}]}`
	if found, err := schema.Check([]byte(broken)); err != nil || len(found) == 0 {
		t.Error("the schema finds nothing", err)
	}
}

// TestSARIFIsAsGitHubTakesIt checks what GitHub refuses a file for, or needs to distinguish alerts:
// relative paths as places, a line, texts of rules, and one fingerprint for each finding.
func TestSARIFIsAsGitHubTakesIt(t *testing.T) {
	for _, c := range []struct{ target, source, want, category string }{
		{"https://x.example/mcp", "", "x.example/mcp", "x.example/mcp"},
		{"http://localhost:3001/mcp?key=1#x", "", "localhost_3001/mcp", "localhost_3001/mcp"},
		{"http://[::1]:3001/a/../../b c/", "", "__1_3001/b%20c", "__1_3001/b%20c"},
		{"https://x.example", "", "x.example", "x.example"},
		{"https://x.example/100%25/ü", "", "x.example/100%25/%C3%BC", "x.example/100%25/%C3%BC"},
		{"node my server.js", "", "node%20my%20server.js", "node%20my%20server.js"},
		{"/usr/bin/node ../x.js", "", "usr/bin/node%20../x.js", "usr/bin/node%20../x.js"},
		{`C:\bin\x.exe`, "", "C_/bin/x.exe", "C_/bin/x.exe"},
		{"npx mcp-remote https://x.example/mcp", "", "npx%20mcp-remote%20https_/x.example/mcp", "npx%20mcp-remote%20https_/x.example/mcp"},
		{"demo", "", "demo", "demo"},
		{"", "", "server", "server"},
		{"https://x.example/mcp", "./src/my server.ts", "src/my%20server.ts", "x.example/mcp"},
		{"https://x.example/mcp", "a:b.ts", "a%3Ab.ts", "x.example/mcp"},
		{"https://x.example/mcp", "/home/x/server.ts", "file:///home/x/server.ts", "x.example/mcp"},
	} {
		r := sample()
		r.Target = c.target
		log := readSARIF(t, r, c.source)
		seen := map[string]bool{}
		for _, result := range log.Results {
			place := result.Locations[0].Physical
			uri, err := url.Parse(place.Artifact.URI)
			if err != nil || place.Artifact.URI != c.want || place.Region.StartLine < 1 {
				t.Errorf("%q: %+v, not %s, %v", c.target, place, c.want, err)
			}
			if uri != nil && c.source == "" && (uri.IsAbs() || uri.Host != "" || strings.HasPrefix(uri.Path, "/")) {
				t.Errorf("%q: %s is not relative", c.target, place.Artifact.URI)
			}
			if result.Properties.Server != c.target {
				t.Errorf("%q: the server is %q", c.target, result.Properties.Server)
			}
			seen[result.RuleID+" "+result.Fingerprints["primaryLocationLineHash"]] = true
		}
		if len(seen) != len(log.Results) || len(seen) == 0 {
			t.Errorf("%q: %d fingerprints for %d results", c.target, len(seen), len(log.Results))
		}
		if want := "mcpc check/" + c.category + "/"; log.Automation.ID != want {
			t.Errorf("%q: the category is %q, not %q", c.target, log.Automation.ID, want)
		}
		for _, rule := range log.Tool.Driver.Rules {
			if rule.Short.Text == "" || rule.Full.Text == "" || rule.Help.Text == "" {
				t.Errorf("%+v", rule)
			}
		}
	}
}

// TestSARIFNamesTheServerOfAFinding is about recordings of several servers.
func TestSARIFNamesTheServerOfAFinding(t *testing.T) {
	r := sample()
	r.Findings[0].Server = "https://other.example/mcp"
	log := readSARIF(t, r, "")
	for i, want := range []string{"other.example/mcp", "x.example/mcp"} {
		if got := log.Results[i].Locations[0].Physical.Artifact.URI; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A sarifRun is what a reader needs of a run.
type sarifRun struct {
	Tool struct {
		Driver struct {
			Rules []struct {
				ID    string
				Short struct{ Text string } `json:"shortDescription"`
				Full  struct{ Text string } `json:"fullDescription"`
				Help  struct{ Text string } `json:"help"`
			} `json:"rules"`
		} `json:"driver"`
	} `json:"tool"`
	Automation struct{ ID string } `json:"automationDetails"`
	Results    []struct {
		RuleID       string                  `json:"ruleId"`
		RuleIndex    int                     `json:"ruleIndex"`
		Fingerprints map[string]string       `json:"partialFingerprints"`
		Properties   struct{ Server string } `json:"properties"`
		Locations    []struct {
			Physical struct {
				Artifact struct{ URI string }    `json:"artifactLocation"`
				Region   struct{ StartLine int } `json:"region"`
			} `json:"physicalLocation"`
		} `json:"locations"`
	} `json:"results"`
}

// readSARIF returns the only run of a report.
func readSARIF(t *testing.T, r *verdict.Report, source string) sarifRun {
	t.Helper()
	var b bytes.Buffer
	if err := r.SARIF(&b, source, []byte("a\nb\ntool(\"a\")\n")); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	if err := json.Unmarshal(b.Bytes(), &log); err != nil || log.Version != "2.1.0" || len(log.Runs) != 1 {
		t.Fatal(err, b.String())
	}
	return log.Runs[0]
}

// A JUnit reader and a SARIF reader find what they need.
func TestJUnitAndSARIFReadersUnderstandReports(t *testing.T) {
	var b bytes.Buffer
	_ = sample().JUnit(&b)
	var suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suite    struct {
			Cases []struct {
				Failure *struct{} `xml:"failure"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b.Bytes(), &suites); err != nil || suites.Tests != 9 || len(suites.Suite.Cases) != 9 || suites.Failures != 2 {
		t.Errorf("%v %+v", err, suites)
	}
	run := readSARIF(t, sample(), "server.ts")
	n := 0
	for _, result := range run.Results {
		if run.Tool.Driver.Rules[result.RuleIndex].ID != result.RuleID || result.Locations[0].Physical.Artifact.URI != "server.ts" {
			t.Errorf("%+v", result)
		}
		if result.RuleID == "L106" {
			n++
		}
	}
	if line := run.Results[0].Locations[0].Physical.Region.StartLine; line != 3 {
		t.Errorf("line %d", line)
	}
	if n != 6 {
		t.Errorf("%d results of L106", n)
	}
}
