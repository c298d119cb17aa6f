package probe_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/servers"
)

// verdicts returns the verdict on each rule of a check, "not run" with the reason.
func verdicts(t *testing.T, words ...string) map[string]string {
	t.Helper()
	out := clitest.MCPC(t, nil, append([]string{"check", "--json", "--rate", "0"}, words...)...)
	var report struct {
		Rules []struct{ Rule, Verdict, Why string }
	}
	if err := json.Unmarshal([]byte(out.Stdout), &report); err != nil {
		t.Fatalf("%q: %v: %s%s", words, err, out.Stdout, out.Stderr)
	}
	all := map[string]string{}
	for _, r := range report.Rules {
		all[r.Rule] = r.Verdict
	}
	return all
}

// Malformed requests and calls are made if the user allows them, and rules hold for some transports and revisions
// only.
func TestProbesDependOnFlagsTransportAndRevision(t *testing.T) {
	server := servers.ForTest(t)
	if err := server.Demo(); err != nil {
		t.Fatal(err)
	}
	url := server.URL("/mcp")
	const call = ` --call get-sum={"a":1,"b":2}`
	for _, c := range []struct{ words, verdicts string }{
		{url + " --era modern", "L011 not run|L048 not run|L124 not run|L126 not run|L043 pass|L135 pass|L177 pass|" +
			"L027 not applicable|L197 not applicable"},
		{url + " --era modern --negative" + call, "L011 pass|L048 pass|L061 pass|L123 pass|L124 pass|L126 pass|" +
			"L145 pass|L083 pass|L008 not applicable"},
		{url + " --era legacy --negative" + call, "L011 pass|L027 pass|L028 pass|L031 pass|L091 pass|L093 pass|L095 pass|" +
			"L124 pass|L136 pass|L043 not applicable"},
		{
			"demo --era modern --negative",
			"L011 pass|L061 not applicable|L083 not applicable|L095 not applicable|L124 not run",
		},
		{"demo --era legacy", "client-cursor not applicable|client-list-changed not applicable|" +
			"L031 pass|L034 pass|L035 pass|L036 pass|L039 pass|L115 not applicable|L092 not applicable"},
	} {
		t.Run(strings.ReplaceAll(c.words, url, "URL"), func(t *testing.T) {
			t.Parallel()
			all := verdicts(t, strings.Fields(c.words)...)
			for _, want := range strings.Split(c.verdicts, "|") {
				rule, verdict, _ := strings.Cut(want, " ")
				if all[rule] != verdict {
					t.Errorf("%s is %s, not %s", rule, all[rule], verdict)
				}
			}
		})
	}
}

// An error status is not always a fault of HTTP: the line explains why it is ok.
func TestHTTPStepExplainsAnErrorStatus(t *testing.T) {
	server := servers.ForTest(t)
	if err := server.Play("speaks 2025-11-25\non server/discover\n    status 404\n"); err != nil {
		t.Fatal(err)
	}
	out := clitest.MCPC(t, nil, "check", server.URL("/mcp"), "--jq", `.ladder[] | select(.name == "http") | .state, .text`)
	const want = "ok\nthe server speaks HTTP: its first answer is HTTP 404 Not Found, HTTP/1.1\n"
	if out.Stdout != want {
		t.Errorf("got %q, want %q: %s", out.Stdout, want, out.Stderr)
	}
}

// A call without arguments that a server does not answer is one finding, although it also lacks a required argument.
func TestUnansweredCallIsReportedOnce(t *testing.T) {
	server := servers.ForTest(t)
	const play = `speaks 2025-11-25
tool {"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}}
on tools/call
    status 502
`
	if err := server.Play(play); err != nil {
		t.Fatal(err)
	}
	all := verdicts(t, server.URL("/mcp"), "--call", "t")
	if all["tool-answers"] != "error" || all["L124"] != "not run" {
		t.Errorf("tool-answers is %s, L124 is %s", all["tool-answers"], all["L124"])
	}
}

// A server that answers each method with the same result breaks what it is asked about, one rule by one probe.
func TestProbesOfAServerThatAcceptsEverything(t *testing.T) {
	server := servers.ForTest(t)
	const play = `speaks 2025-11-25
session x
tool {"name":"t","title":"T","description":"Waits.","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"a":{"type":"integer","description":"n"}},"required":["a"]}}
on mcpc/doesNotExist
    result {}
on ping
    result {"pong":true}
on tools/call
    result {"content":[{"type":"text","text":"x"}]}
on resources/read
    result {"contents":[]}
on prompts/get
    result {"messages":[]}
`
	if err := server.Play(play); err != nil {
		t.Fatal(err)
	}
	all := verdicts(t, server.URL("/mcp"), "--era", "legacy", "--negative", "--call", `t={"a":1}`)
	for _, rule := range []string{"L011", "L031", "L123", "L126"} {
		if v := all[rule]; v != "error" && v != "warn" {
			t.Errorf("%s is %s", rule, v)
		}
	}
}
