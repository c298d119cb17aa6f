package cli_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/cli"
	"mcpc/internal/cli/batch"
	"mcpc/internal/cli/catalog"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/wire"
)

// severities lists all kinds in the order of their precedence for the exit code of a command that
// did several things.
var severities = []wire.Kind{
	wire.Signal, wire.Internal, wire.LocalIO,
	wire.Refused, wire.Auth, wire.Timeout, wire.Transport, wire.BadResponse, wire.RPCFailed, wire.InputRequired,
	wire.OutputInvalid, wire.ToolError,
	wire.InvalidArguments, wire.Usage, wire.CheckFailed, wire.NoMatch,
	wire.OK,
}

func TestWorseOrdersAllKinds(t *testing.T) {
	for _, e := range wire.ExitCodes {
		if !slices.Contains(severities, e.Kind) {
			t.Errorf("%q is missing", e.Kind)
		}
	}
	if len(severities) != len(wire.ExitCodes) {
		t.Errorf("%d kinds are listed, want %d", len(severities), len(wire.ExitCodes))
	}
	for i, a := range severities {
		for j, b := range severities {
			if got, want := cmdutil.MoreSevere(a, b), severities[min(i, j)]; got != want {
				t.Errorf("worse(%q, %q) is %q, want %q", a, b, got, want)
			}
		}
	}
}

// The help of mcpc batch writes the same order.
func TestBatchHelpListsSeverities(t *testing.T) {
	codes := []string{"a signal's"}
	for _, kind := range severities[1:] {
		if kind != wire.CheckFailed && kind != wire.NoMatch && kind != wire.OK { // no line of a batch ends with these
			codes = append(codes, fmt.Sprint(kind.ExitCode()))
		}
	}
	help := strings.Join(strings.Fields(batch.NewBatch(cmdutil.New(nil, nil, nil)).Long), " ")
	if want := strings.Join(codes, ", ") + "."; !strings.Contains(help, want) {
		t.Errorf("the help of batch does not list %s", want)
	}
}

// The outcome of mcpc list --all and of mcpc grep is the worst outcome of all servers.
func TestWorstServerDecides(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	f := cli.New(null, null, null)
	f.Now = time.Now
	f.Getenv = func(string) string { return "" }
	f.SettleStyles()
	for i, one := range severities {
		for j, other := range severities {
			asked := []*catalog.Surveyed{{KnownServer: &cmdutil.KnownServer{ID: "one"}, Out: wire.Outcome{Kind: one}}, {KnownServer: &cmdutil.KnownServer{ID: "other"}, Out: wire.Outcome{Kind: other}}}
			if out, _ := catalog.ReportFailures(t.Context(), f, asked, nil); out.Kind != severities[min(i, j)] {
				t.Errorf("%q and %q end in %q, want %q", one, other, out.Kind, severities[min(i, j)])
			}
		}
	}
}
