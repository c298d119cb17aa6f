package liveview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/live/view"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// tryView opens a view of all recordings, of which there are none, in a revision.
func tryView(t *testing.T, revision string) *View {
	t.Helper()
	f := cmdutil.New(nil, nil, nil)
	f.Now, f.State, f.Getenv = time.Now, t.TempDir(), func(string) string { return "" }
	f.Protocol = revision
	v, out := Open(f, Options{Powers: view.Powers{Call: true, Files: true}})
	if !out.OK() {
		t.Fatal(out.Text)
	}
	t.Cleanup(func() { v.Close(context.Background()) })
	return v
}

// offersOfKind returns the offers of one kind in a catalog.
func offersOfKind(t *testing.T, c view.Catalog, kind string) []view.Offer {
	t.Helper()
	i := slices.IndexFunc(c.Lists, func(l view.OfferList) bool { return l.Kind == kind })
	if i < 0 {
		t.Fatalf("no list of %ss in %+v", kind, c)
	}
	if c.Lists[i].Error != "" {
		t.Errorf("%ss: %s", kind, c.Lists[i].Error)
	}
	return c.Lists[i].Offers
}

// offerNamed returns the offer with a name.
func offerNamed(t *testing.T, c view.Catalog, kind, name string) view.Offer {
	t.Helper()
	all := offersOfKind(t, c, kind)
	i := slices.IndexFunc(all, func(o view.Offer) bool { return o.Name == name })
	if i < 0 {
		t.Fatalf("no %s %q in %+v", kind, name, all)
	}
	return all[i]
}

// inBothEras runs a test with the demo server in a revision of each era.
func inBothEras(t *testing.T, run func(t *testing.T, v *View)) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			run(t, tryView(t, revision))
		})
	}
}

func TestCatalogHasWhatTheServerOffers(t *testing.T) {
	t.Parallel()
	inBothEras(t, func(t *testing.T, v *View) {
		c, err := v.Actor.Catalog(t.Context(), "demo")
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := json.MarshalIndent(c, "", " ")
		if c.Target != "demo" || c.Server == "" || c.Revision == "" {
			t.Errorf("the server: %s", raw)
		}
		echo := offerNamed(t, c, view.KindTool, "echo")
		if len(echo.Schema) == 0 || strings.Join(echo.Command, "{}") != "mcpc -s demo call echo {}" {
			t.Errorf("echo: %+v", echo)
		}
		prompt := offerNamed(t, c, view.KindPrompt, "args-prompt")
		if want := `"required":["city"]`; !strings.Contains(string(prompt.Schema), want) {
			t.Errorf("args-prompt: %s", prompt.Schema)
		}
		template := offerNamed(t, c, view.KindTemplate, "demo://resource/dynamic/text/{resourceId}")
		if want := `"required":["resourceId"]`; !strings.Contains(string(template.Schema), want) {
			t.Errorf("the template: %s", template.Schema)
		}
		if len(offersOfKind(t, c, view.KindResource)) == 0 {
			t.Errorf("no resources: %s", raw)
		}
	})
}

func TestRequestsUseOneConnection(t *testing.T) {
	t.Parallel()
	inBothEras(t, func(t *testing.T, v *View) {
		if _, err := v.Actor.Catalog(t.Context(), "demo"); err != nil {
			t.Fatal(err)
		}
		run := ""
		for _, r := range []view.Request{
			{Kind: view.KindTool, Name: "echo", Arguments: json.RawMessage(`{"message":"hi"}`)},
			{Kind: view.KindPrompt, Name: "args-prompt", Arguments: json.RawMessage(`{"city":"Paris"}`)},
			{Kind: view.KindResource, Name: "demo://resource/static/document/features.md"},
			{
				Kind: view.KindTemplate, Name: "demo://resource/dynamic/text/{resourceId}",
				Arguments: json.RawMessage(`{"resourceId":"3"}`),
			},
		} {
			r.Target = "demo"
			sent, err := v.Actor.Request(t.Context(), r)
			if err != nil || sent.Channel != "ok" || sent.Key == "" {
				t.Fatalf("%+v: %+v, %v", r, sent, err)
			}
			of, _, _ := strings.Cut(sent.Key, ".")
			if run != "" && of != run {
				t.Errorf("%s: run %s, the requests before are in %s", r.Name, of, run)
			}
			run = of
			awaitRow(t, v, sent.Key)
		}
		c, err := v.Actor.Catalog(t.Context(), "demo")
		if err != nil {
			t.Fatal(err)
		}
		if last := offerNamed(t, c, view.KindTool, "echo").Last; last == nil || string(last.Arguments) != `{"message":"hi"}` {
			t.Errorf("the last good call: %+v", last)
		}
	})
}

// awaitRow waits until a view has a finished row.
func awaitRow(t *testing.T, v *View, key string) view.Row {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		page, err := v.Rows(ctx, view.Query{Only: []string{key}})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Rows) == 1 && page.Rows[0].State == "done" {
			return page.Rows[0]
		}
		v.Wait(ctx, page.Seq)
	}
	t.Fatalf("no finished row %s", key)
	return view.Row{}
}

// stateless is a server of 2026-07-28.
const stateless = `
while read -r line; do
	id=$(printf %s "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
	result='"tools":[]'
	case $line in *'"server/discover"'*) result='"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}' ;; esac
	printf '{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete",%s}}\n' "$id" "$result"
done`

// The requests of a view ask for log messages in the era in which each request has to: all, or those of --log-level.
func TestRequestsAskForLogMessages(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{"": "debug", "warning": "warning"} {
		v := tryView(t, "2026-07-28")
		v.Actor.Factory.LogLevel = flag
		start(t, v, Command{Argv: []string{"sh", "-c", stateless}})
		if _, err := v.Actor.Catalog(t.Context(), "demo"); err != nil {
			t.Fatal(err)
		}
		for _, filter := range []string{"-target:demo", "target:demo"} {
			var page view.Page
			awaitStatus(t, v, func(view.Status) bool {
				page, _ = v.Rows(t.Context(), view.Query{Filter: "method:tools/list " + filter, Count: 1})
				return len(page.Rows) == 1 && page.Rows[0].State == "done"
			})
			detail, err := v.Detail(t.Context(), page.Rows[0].Key)
			if err != nil || !strings.Contains(detail.Request.Text, `"io.modelcontextprotocol/logLevel":"`+want+`"`) {
				t.Errorf("%s: %+v, %v", filter, detail.Request, err)
			}
		}
	}
}

func TestCompleteSuggestsValues(t *testing.T) {
	t.Parallel()
	inBothEras(t, func(t *testing.T, v *View) {
		ask := view.Completion{
			Target: "demo", Kind: view.KindPrompt, Name: "completable-prompt", Argument: "department",
			Arguments: json.RawMessage(`{"department":""}`),
		}
		got, err := v.Actor.Complete(t.Context(), ask)
		if err != nil || len(got.Values) == 0 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestSubscribeMakesRowsOfUpdates(t *testing.T) {
	t.Parallel()
	inBothEras(t, func(t *testing.T, v *View) {
		const uri = "demo://resource/static/document/features.md"
		for range 2 {
			if err := v.Actor.Subscribe(t.Context(), "demo", uri, true); err != nil {
				t.Fatal(err)
			}
			if err := v.Actor.Subscribe(t.Context(), "demo", uri, false); err != nil {
				t.Fatal(err)
			}
		}
		if len(v.Actor.subscriptions) != 0 {
			t.Errorf("subscriptions remain: %v", v.Actor.subscriptions)
		}
	})
}

func TestCancelEndsRunningRequest(t *testing.T) {
	t.Parallel()
	inBothEras(t, func(t *testing.T, v *View) {
		if err := v.Actor.Cancel(t.Context(), view.Cancellation{Target: "demo"}); err == nil {
			t.Error("nothing runs, and something was cancelled")
		}
		ended := make(chan error, 1)
		go func() {
			_, err := v.Actor.Request(context.Background(), view.Request{
				Target: "demo", Kind: view.KindTool, Name: "trigger-long-running-operation",
				Arguments: json.RawMessage(`{"duration":600,"steps":600}`),
			})
			ended <- err
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		const running = "method:tools/call is:open"
		for seq := uint64(0); ; {
			page, err := v.Rows(ctx, view.Query{Filter: running})
			if err != nil || ctx.Err() != nil {
				t.Fatal("no running row", err)
			}
			if len(page.Rows) == 1 {
				if err := v.Actor.Cancel(ctx, view.Cancellation{Target: "demo"}); err != nil {
					t.Fatal(err)
				}
				break
			}
			seq = v.Wait(ctx, max(seq, page.Seq))
		}
		<-ended
	})
}

func TestStepIsAppendedToFile(t *testing.T) {
	t.Chdir(t.TempDir())
	v := tryView(t, "")
	r := view.Request{Target: "demo", Kind: view.KindTool, Name: "echo", Arguments: json.RawMessage(`{"message":"hi"}`)}
	step, err := v.Actor.Step(t.Context(), r, "")
	want := view.SavedStep{
		Text: "server: demo\nsteps:\n  - call: echo\n    args:\n      message: hi\n",
		Run:  "mcpc run calls.mcpc.yaml",
	}
	if err != nil || step != want {
		t.Errorf("got %q, %v", step, err)
	}
	for _, file := range []string{"../a.mcpc.yaml", "a.txt", "/tmp/a.mcpc.yaml"} {
		if _, err := v.Actor.Step(t.Context(), r, file); err == nil {
			t.Errorf("%s is accepted", file)
		}
	}
	for range 2 {
		if _, err := v.Actor.Step(t.Context(), r, "a.mcpc.yaml"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(filepath.Join(".", "a.mcpc.yaml"))
	if err != nil || strings.Count(string(got), "- call: echo") != 2 || !strings.Contains(string(got), "server: demo") {
		t.Errorf("the file: %s, %v", got, err)
	}
	if strings.Contains(string(got), "sampling") {
		t.Errorf("the file has answers that the user did not give: %s", got)
	}
	if err := os.WriteFile("b.mcpc.yaml", []byte("server: http://127.0.0.1:1/mcp\nsteps:\n  - list: tools\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Actor.Step(t.Context(), r, "b.mcpc.yaml"); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("a file for a different server: %v", err)
	}
}

// A bigServer is an HTTP server with many tools on pages of 500, the first of which have hostile names.
// It counts the calls of tools.
type bigServer struct {
	*httptest.Server
	calls atomic.Int32
}

// newBigServer starts a bigServer with a number of tools.
func newBigServer(t *testing.T, size int) *bigServer {
	t.Helper()
	const page = 500
	s := &bigServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := wire.ParseMessage(body)
		result := "{}"
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"big\u001b[31m","version":"1"}}`
		case "tools/list":
			params, _ := m.ParamMembers()
			first, _ := strconv.Atoi(params.Text("cursor"))
			tools := []string{}
			for i := first; i < first+page; i++ {
				tools = append(tools, fmt.Sprintf(`{"name":"tool-%d","description":"d","inputSchema":{"type":"object","required":["n"],`+
					`"properties":{"n":{"type":"integer"}}},"annotations":{"destructiveHint":%t}}`, i, i == 7))
			}
			if first == 0 {
				tools[0] = `{"name":"\u001b]0;x\u0007","inputSchema":{"type":"object"}}`
				tools[1] = `{"description":"without a name"}`
			}
			next := ""
			if first+page < size {
				next = fmt.Sprintf(`,"nextCursor":"%d"`, first+page)
			}
			result = `{"tools":[` + strings.Join(tools, ",") + `]` + next + `}`
		case "tools/call":
			s.calls.Add(1)
			result = `{"content":[]}`
		}
		if m.Kind != wire.Request || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if m.Method == "server/discover" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestCatalogFollowsPagesAndKeepsHostileNames(t *testing.T) {
	t.Parallel()
	s := newBigServer(t, 10_000)
	v := tryView(t, "2025-06-18")
	c, err := v.Actor.Catalog(t.Context(), s.URL)
	if err != nil {
		t.Fatal(err)
	}
	all := offersOfKind(t, c, view.KindTool)
	if len(all) != 10_000 {
		t.Errorf("%d tools", len(all))
	}
	hostile := offerNamed(t, c, view.KindTool, "\x1b]0;x\a")
	if strings.Contains(strings.Join(hostile.Command, ""), "\x1b") {
		t.Errorf("the command has a control character: %q", hostile.Command)
	}
	if refused := all[len(all)-1]; refused.Refused == "" {
		t.Errorf("the entry without a name: %+v", refused)
	}
}

func TestRequestAsksForConsent(t *testing.T) {
	t.Parallel()
	s := newBigServer(t, 1000)
	v := tryView(t, "2025-06-18")
	r := view.Request{Target: s.URL, Kind: view.KindTool, Name: "tool-7", Arguments: json.RawMessage(`{"n":"x"}`)}
	for _, want := range []string{"Send tools/call tool-7 to " + s.URL + "? The tool may change something.", "do not match"} {
		sent, err := v.Actor.Request(t.Context(), r)
		if err != nil || !strings.Contains(sent.Confirm, want) {
			t.Fatalf("%+v, %v, want the question %q", sent, err, want)
		}
		if s.calls.Load() > 0 {
			t.Fatal("the tool was called without consent")
		}
		r.Confirmed = true
		if sent, err = v.Actor.Request(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		r.Confirmed = false
		if sent.Confirm == "" {
			break
		}
	}
	if s.calls.Load() != 1 {
		t.Errorf("the tool was called %d times", s.calls.Load())
	}
	if sent, err := v.Actor.Request(t.Context(), r); err != nil || sent.Confirm == "" {
		t.Errorf("the consent holds for a second call: %+v, %v", sent, err)
	}
}

// A recorded request is sent again only after the user agreed to its server. The user who edits it agrees.
func TestResendAsksForServerUnlessEdited(t *testing.T) {
	t.Parallel()
	s := newBigServer(t, 1000)
	v := tryView(t, "2025-06-18")
	f := v.Actor.Factory
	if _, err := v.Actor.Catalog(t.Context(), s.URL); err != nil {
		t.Fatal(err)
	}
	const valid = `{"n":7}`
	r := view.Request{Target: s.URL, Kind: view.KindTool, Name: "tool-8", Arguments: json.RawMessage(valid)}
	first, err := v.Actor.Request(t.Context(), r)
	if err != nil || first.Key == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	again, out := Open(f, Options{Powers: view.Powers{Resend: true}})
	if !out.OK() {
		t.Fatal(out.Text)
	}
	t.Cleanup(func() { again.Close(context.Background()) })
	sent, err := again.Actor.Resend(t.Context(), first.Key, nil, false)
	if err != nil || !strings.Contains(sent.Confirm, s.URL) || s.calls.Load() != 1 {
		t.Fatalf("unedited: %+v, %v, %d calls", sent, err, s.calls.Load())
	}
	message := json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool-8","arguments":` + valid + `}}`)
	sent, err = again.Actor.Resend(t.Context(), first.Key, message, false)
	if err != nil || sent.Confirm != "" || s.calls.Load() != 2 {
		t.Errorf("edited: %+v, %v, %d calls", sent, err, s.calls.Load())
	}
}

// Without the power to send again, only requests to the view's own server are.
func TestResendToOwnServerNeedsNoPower(t *testing.T) {
	t.Parallel()
	s := newBigServer(t, 500)
	v := tryView(t, "")
	if _, err := v.Actor.Catalog(t.Context(), s.URL); err != nil {
		t.Fatal(err)
	}
	start(t, v, Command{Argv: []string{"sh", "-c", stricter}})
	for target, r := range map[string]view.Request{
		s.URL: {Kind: view.KindTool, Name: "tool-8", Arguments: json.RawMessage(`{"n":7}`)},
		"":    {Kind: view.KindTool, Name: "get-weather", Arguments: json.RawMessage(`{"city":"Bern"}`)},
	} {
		r.Target = target
		first, err := v.Actor.Request(t.Context(), r)
		if err != nil || first.Key == "" {
			t.Fatalf("%s: %+v, %v", target, first, err)
		}
		again, err := v.Actor.Resend(t.Context(), first.Key, nil, false)
		if refused := errors.As(err, &view.NotAllowed{}); refused != (target != "") || again.Key == first.Key {
			t.Errorf("%q: %+v, %v", target, again, err)
		}
	}
	if n := s.calls.Load(); n != 1 {
		t.Errorf("the other server was called %d times", n)
	}
}

func TestRequestReportsServerThatIsGone(t *testing.T) {
	t.Parallel()
	s := newBigServer(t, 1000)
	v := tryView(t, "2025-06-18")
	if _, err := v.Actor.Catalog(t.Context(), s.URL); err != nil {
		t.Fatal(err)
	}
	s.Close()
	r := view.Request{Target: s.URL, Kind: view.KindTool, Name: "tool-8", Arguments: json.RawMessage(`{"n":1}`)}
	sent, err := v.Actor.Request(t.Context(), r)
	if err == nil && !strings.Contains(sent.Text, "refused") {
		t.Errorf("%+v, %v", sent, err)
	}
	if _, err := v.Actor.Catalog(t.Context(), s.URL); err != nil && !strings.Contains(err.Error(), "refused") {
		t.Errorf("the catalog: %v", err)
	}
}

func TestRequestRefusesWrongInput(t *testing.T) {
	t.Parallel()
	v := tryView(t, "")
	for want, r := range map[string]view.Request{
		"unknown kind":   {Target: "demo", Kind: "song", Name: "x"},
		"no variable":    {Target: "demo", Kind: view.KindTemplate, Name: "demo://{a}", Arguments: json.RawMessage(`{"b":"1"}`)},
		"enter the secr": {Target: "demo", Kind: view.KindTool, Name: "echo", Arguments: json.RawMessage(`{"message":"` + redact.Redacted("s3cret-s3cret") + `"}`)},
		"starts no":      {Target: "ls -l", Kind: view.KindTool, Name: "x"},
	} {
		if sent, err := v.Actor.Request(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %+v, %v, want %q", r, sent, err, want)
		}
	}
	if _, err := v.Actor.Complete(t.Context(), view.Completion{Target: "demo", Kind: view.KindTool, Name: "echo"}); err == nil {
		t.Error("an argument of a tool is completed")
	}
	for target, want := range map[string]string{
		"https://h/?key=" + redact.Redacted("s3cret-s3cret"): "has a secret",
		"ls -l":                              "neither a URL nor demo",
		"my session, http://127.0.0.1:1/mcp": "refused",
	} {
		if _, err := v.Actor.Catalog(t.Context(), target); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the catalog of %s: %v, want %q", target, err, want)
		}
	}
	if err := v.Actor.Subscribe(t.Context(), "http://127.0.0.1:1/other", "a:b", true); err == nil {
		t.Error("a server that the user did not agree to is asked")
	}
}

func TestChangedListIsCounted(t *testing.T) {
	t.Parallel()
	inBothEras(t, func(t *testing.T, v *View) {
		c, err := v.Actor.Catalog(t.Context(), "demo")
		if err != nil {
			t.Fatal(err)
		}
		before := len(offersOfKind(t, c, view.KindTool))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r := view.Request{Target: "demo", Kind: view.KindTool, Name: "change-list", Arguments: json.RawMessage(`{"list":"tools"}`)}
		// The server may agree to report changes after the first call.
		for seq := uint64(0); v.Status().Catalogs == 0; seq = v.Wait(ctx, seq) {
			if sent, err := v.Actor.Request(ctx, r); err != nil || sent.Confirm != "" {
				t.Fatal(sent, err)
			}
		}
		c, err = v.Actor.Catalog(t.Context(), "demo")
		if now := len(offersOfKind(t, c, view.KindTool)); err != nil || now != before+1 {
			t.Errorf("%d tools, %d before, %v", now, before, err)
		}
	})
}
