package liveview

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/live/view"
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
				if err := v.Actor.Cancel(ctx, view.Cancellation{Key: page.Rows[0].Key}); err != nil {
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
	text, err := v.Actor.Step(t.Context(), r, "")
	if want := "- call: echo\n  args:\n    message: hi\n"; err != nil || text != want {
		t.Errorf("got %q, %v", text, err)
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
}
