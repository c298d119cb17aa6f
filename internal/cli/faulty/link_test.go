package faulty

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/proxy"
)

// A tap that records nothing, as for inspect --watch, answers a view without the number of a run.
func TestControlOfCommandWithoutRecording(t *testing.T) {
	s := &Faults{factory: cmdutil.New(nil, nil, nil)}
	if hello := s.newServer().Hello(); hello.Run != 0 {
		t.Errorf("got %+v", hello)
	}
}

// A client of mcpc sends to the faults the requests for a server, and the path, the query and the
// Host field arrive as they would without faults.
func TestFaultsPassClientTrafficUnchanged(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Host+r.RequestURI)
	}))
	defer server.Close()
	streams, err := os.Create(filepath.Join(t.TempDir(), "streams"))
	if err != nil {
		t.Fatal(err)
	}
	defer streams.Close()
	f := cmdutil.New(streams, streams, streams)
	f.Now, f.Getenv = time.Now, func(string) string { return "" }
	f.SettleStyles()
	report := filepath.Join(t.TempDir(), "report.json")
	var o Options
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(flags)
	words := []string{"--fault", "when method:tools/call #2 do status 503", "--fault-seed", "7", "--fault-report", report}
	if err := flags.Parse(words); err != nil {
		t.Fatal(err)
	}
	if got, err := o.Words(f); err != nil || !slices.Equal(got, words) {
		t.Fatal(got, err)
	}
	s, err := o.Start(f, proxy.LinkHTTP)
	if err != nil {
		t.Fatal(err)
	}
	to, _ := url.Parse(server.URL + "/a%2Fb?c=d")
	at, end, out := s.StartProxy(t.Context(), to)
	if !out.OK() {
		t.Fatal(out)
	}
	for i, want := range []string{to.Host + to.RequestURI(), "mcpc fault: status 503\n", to.Host + to.RequestURI()} {
		resp, err := http.Post(at.String(), "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(got) != want {
			t.Errorf("%d: got %q, want %q", i, got, want)
		}
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(report)
	if err != nil || !strings.Contains(string(text), `"seed":7,"bad":1`) || !strings.Contains(string(text), `"did":"repeated"`) {
		t.Errorf("the report: %s %v", text, err)
	}
}
