package wire

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kinds reads the constants of type Kind from the source, so that no kind can be forgotten here.
func kinds(t *testing.T) (all []Kind) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "exit_code.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if is, ok := spec.Type.(*ast.Ident); !ok || is.Name != "Kind" {
			return true
		}
		for _, value := range spec.Values {
			text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, Kind(text))
		}
		return true
	})
	return all
}

func TestEveryKindHasOneExitCode(t *testing.T) {
	rows, codes := map[Kind]int{}, map[int]Kind{}
	last := -1
	for _, e := range ExitCodes {
		rows[e.Kind]++
		if other, ok := codes[e.Code]; ok && e.Kind != NoMatch { // as grep has it
			t.Errorf("%q and %q both exit with %d", other, e.Kind, e.Code)
		}
		codes[e.Code] = e.Kind
		if e.Code < last {
			t.Errorf("%d stands behind %d", e.Code, last)
		}
		last = e.Code
		if e.Channel == "" || e.Sent == "" || e.Stdout == "" {
			t.Errorf("the row of %q is not full: %+v", e.Kind, e)
		}
		if got := e.Kind.ExitCode(); got != e.Code {
			t.Errorf("%q exits with %d, the table says %d", e.Kind, got, e.Code)
		}
	}
	all := kinds(t)
	if len(all) != 17 || len(all) != len(ExitCodes) {
		t.Errorf("%d kinds and %d endings", len(all), len(ExitCodes))
	}
	for _, k := range all {
		if rows[k] != 1 {
			t.Errorf("%q has %d rows", k, rows[k])
		}
	}
}

// The codes are a contract: they are written down a second time here.
func TestExitCodes(t *testing.T) {
	want := map[Kind]int{
		"": 0, "check_failed": 1, "no_match": 1, "usage": 2, "invalid_arguments": 3, "auth": 4, "tool_error": 5, "rpc_error": 6,
		"transport": 7, "bad_response": 8, "timeout": 9, "output_invalid": 10, "input_required": 11, "refused": 12, "local_io": 13,
		"internal": 70, "signal": 128, "no such kind": 70,
	}
	for k, code := range want {
		if got := k.ExitCode(); got != code {
			t.Errorf("%q exits with %d, want %d", k, got, code)
		}
	}
}

func TestPrecedenceOfExitCodes(t *testing.T) {
	var got []int
	for _, k := range Precedence {
		got = append(got, k.ExitCode())
	}
	want := []int{Signal.ExitCode(), 12, 4, 9, 7, 8, 6, 11, 10, 5} // DESIGN, section 6
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNamesOfEnumerations(t *testing.T) {
	var got []string
	for _, d := range []Direction{Sent, Received} {
		got = append(got, d.String())
	}
	for k := Body; k <= Closed; k++ {
		got = append(got, k.String())
	}
	for k := Invalid; k <= Batch; k++ {
		got = append(got, k.String())
	}
	for l := Info; l <= Error; l++ {
		got = append(got, l.String())
	}
	for r := Unsent; r <= Answered; r++ {
		got = append(got, r.String())
	}
	want := []string{
		"sent", "received", "body", "head", "event", "stderr", "noise", "closed",
		"invalid", "request", "notification", "response", "error", "batch", "info", "warning", "error", "not_sent", "unknown", "answered",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOutcome(t *testing.T) {
	failed := Outcome{Kind: RPCFailed, Message: ParseMessage([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"no"}}`))}
	if (Outcome{}).RPCError() != nil || !(Outcome{}).OK() {
		t.Error("the empty outcome is good")
	}
	if e := failed.RPCError(); e == nil || e.Code != 0 || failed.OK() {
		t.Errorf("%+v", e)
	}
}
