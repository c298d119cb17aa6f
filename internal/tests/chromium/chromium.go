//go:build peers

package chromium

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"mcpc/internal/pause"
)

// patience is how long a page has for anything.
const patience = 90 * time.Second

// A Browser is a Chromium without a window and with a profile of its own.
type Browser struct {
	ctx context.Context
	// profile is the profile of a shared Chromium, "" for its first one.
	profile cdp.BrowserContextID
}

// Start starts a Browser, which ends with the test.
func Start(t testing.TB, more ...chromedp.ExecAllocatorOption) *Browser {
	t.Helper()
	ctx, end, err := launch(more...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return &Browser{ctx: ctx}
}

// endShared ends the Chromium of shared. It is nil until that one is started.
var endShared func()

// shared starts the Chromium that the tests of a package share.
var shared = sync.OnceValues(func() (context.Context, error) {
	ctx, end, err := launch()
	endShared = end
	return ctx, err
})

// Main runs the tests of a package, ends the Chromium that they share, and exits.
func Main(m *testing.M) {
	code := m.Run()
	if endShared != nil {
		endShared()
	}
	os.Exit(code)
}

// Share returns the Chromium that the tests of a package share, which starts faster than one of their own. It has an
// empty profile for each test. The TestMain of the package calls Main.
func Share(t testing.TB) *Browser {
	t.Helper()
	ctx, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	browser := cdp.WithExecutor(ctx, chromedp.FromContext(ctx).Browser)
	profile, err := target.CreateBrowserContext().Do(browser)
	if err != nil {
		t.Fatalf("chromium makes no profile: %v", err)
	}
	t.Cleanup(func() {
		if err := target.DisposeBrowserContext(profile).Do(browser); err != nil {
			t.Error(err)
		}
	})
	// Tabs open in the window of their profile.
	_, err = target.CreateTarget("about:blank").WithBrowserContextID(profile).WithNewWindow(true).Do(browser)
	if err != nil {
		t.Fatalf("chromium opens no window: %v", err)
	}
	return &Browser{ctx: ctx, profile: profile}
}

// launch starts Chromium, and returns the context of its first tab and a function that ends it.
func launch(more ...chromedp.ExecAllocatorOption) (ctx context.Context, end func(), err error) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		return nil, nil, fmt.Errorf("%w; this test needs it: apt-get install chromium", err)
	}
	profile, err := os.MkdirTemp("", "mcpc-chromium-")
	if err != nil {
		return nil, nil, err
	}
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(chromium), chromedp.UserDataDir(profile), chromedp.Flag("headless", "new"), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.NoDefaultBrowserCheck, chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.WSURLReadTimeout(patience), chromedp.WindowSize(1280, 800)}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), append(options, more...)...)
	ctx, leave := chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {})) // newer events than it knows
	end = func() {
		leave()
		stop()
		removeProfile(profile)
	}
	if err := chromedp.Run(ctx); err != nil {
		end()
		return nil, nil, fmt.Errorf("chromium does not start: %w", err)
	}
	return ctx, end, nil
}

// removeProfile removes the profile of a Chromium that has ended.
func removeProfile(profile string) {
	if socket, err := os.Readlink(filepath.Join(profile, "SingletonSocket")); err == nil {
		_ = os.RemoveAll(filepath.Dir(socket)) // a directory of its own, which a killed Chromium leaves
	}
	// Its last processes still write for a moment, and make a directory again that was removed.
	end := time.Now().Add(patience)
	for (isUsed(profile) || os.RemoveAll(profile) != nil) && time.Now().Before(end) {
		_ = pause.For(context.Background(), 50*time.Millisecond)
	}
}

// isUsed reports a process whose command line names a folder, as those of a Chromium do.
func isUsed(folder string) bool {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(lines, func(name string) bool {
		line, err := os.ReadFile(name)
		return err == nil && bytes.Contains(line, []byte(folder))
	})
}

// A Page is a tab, and what was seen of it.
type Page struct {
	Ctx context.Context
	t   testing.TB

	mu        sync.Mutex
	faults    []string
	requested []string
}

// Tab opens a tab.
func (b *Browser) Tab(t testing.TB) *Page {
	t.Helper()
	var options []chromedp.ContextOption
	if b.profile != "" {
		options = append(options, chromedp.WithExistingBrowserContext(b.profile))
	}
	ctx, stop := chromedp.NewContext(b.ctx, options...)
	t.Cleanup(stop)
	p := &Page{Ctx: ctx, t: t}
	chromedp.ListenTarget(ctx, p.see)
	p.Run(cdplog.Enable(), runtime.AddBinding("mcpcViolated"), chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(`addEventListener('securitypolicyviolation', e => mcpcViolated(e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sample))`).Do(ctx)
		return err
	}))
	return p
}

// see notes an event of the tab.
func (p *Page) see(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fault := func(kind string, v any) {
		raw, _ := json.Marshal(v)
		p.faults = append(p.faults, kind+" "+string(raw))
	}
	switch e := event.(type) {
	case *runtime.EventBindingCalled:
		fault("policy", e.Payload)
	case *runtime.EventExceptionThrown:
		fault("exception", e.ExceptionDetails)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning || e.Type == runtime.APITypeAssert {
			fault("console", e.Args)
		}
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == cdplog.LevelError || e.Entry.Level == cdplog.LevelWarning {
			fault("log", e.Entry.Text+" "+e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		p.requested = append(p.requested, e.Request.URL)
	}
}

// Faults are errors on the console, exceptions, and violations of the page's policy.
func (p *Page) Faults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.faults...)
}

// Forget forgets the faults and the requests seen until now.
func (p *Page) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults, p.requested = nil, nil
}

// Requested are the URLs asked for, of all hosts but host.
func (p *Page) Requested(host string) (others []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range p.requested {
		u, err := url.Parse(text)
		if err != nil || u.Host != host && u.Scheme != "data" && u.Scheme != "blob" && u.Scheme != "about" {
			others = append(others, text)
		}
	}
	return others
}

// Run does something in the tab.
func (p *Page) Run(actions ...chromedp.Action) {
	p.t.Helper()
	// The first action of a tab makes it, so its context is that of the tab.
	if err := chromedp.Run(p.Ctx, append([]chromedp.Action{}, actions...)...); err != nil {
		p.t.Fatal(err)
	}
}

// Go goes to a URL.
func (p *Page) Go(to string) {
	p.t.Helper()
	p.Run(chromedp.Navigate(to))
}

// Eval gives the value of an expression, which may be a promise, as JSON in into.
func (p *Page) Eval(expression string, into any) {
	p.t.Helper()
	if err := p.eval(expression, into); err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
}

func (p *Page) eval(expression string, into any) error {
	ctx, stop := context.WithTimeout(p.Ctx, patience)
	defer stop()
	return chromedp.Run(ctx, chromedp.ActionFunc(func(ctx context.Context) error {
		got, thrown, err := runtime.Evaluate(expression).WithAwaitPromise(true).WithReturnByValue(true).Do(ctx)
		switch {
		case err != nil:
			return err
		case thrown != nil:
			return thrown
		case into == nil || got.Value == nil:
			return nil
		}
		return json.Unmarshal(got.Value, into)
	}))
}

// Text is an expression's value as text.
func (p *Page) Text(expression string) (text string) {
	p.t.Helper()
	p.Eval("String("+expression+")", &text)
	return text
}

// Await waits until an expression is true.
func (p *Page) Await(expression string) {
	p.t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); {
		var holds bool
		if err = p.eval("!!("+expression+")", &holds); err == nil && holds {
			return
		}
		_ = pause.For(p.Ctx, 30*time.Millisecond)
	}
	var body string
	_ = p.eval("`${location.hash}, focus on ${document.activeElement.outerHTML.slice(0, 200)}, value ${document.activeElement.value}\n${document.body.innerText.slice(0, 2000)}`", &body)
	p.t.Fatalf("%s did not come true (%v); faults %q; the page says\n%s", expression, err, p.Faults(), body)
}

// Keys types; "\r", "\t" and kb.Escape are keys. As from a keyboard, and unlike with
// chromedp.KeyEvent, a key and its character are one event, which a page can keep to itself.
func (p *Page) Keys(keys string) {
	p.t.Helper()
	for _, r := range keys {
		down, up := *kb.Encode(r)[0], input.DispatchKeyEventParams{}
		down.Type = input.KeyDown
		if unicode.IsPrint(r) || r == '\r' {
			down.Text = string(r)
		}
		up = down
		up.Type, up.Text = input.KeyUp, ""
		p.Run(&down, &up)
	}
}

// Size sets the window's size, and how much larger everything is drawn.
func (p *Page) Size(width, height int64, zoom float64) {
	p.t.Helper()
	p.Run(emulation.SetDeviceMetricsOverride(int64(float64(width)/zoom), int64(float64(height)/zoom), zoom, false))
}

// Scheme sets "dark" or "light".
func (p *Page) Scheme(name string) {
	p.t.Helper()
	p.Run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}))
}

// Shot gives a picture of the tab as PNG.
func (p *Page) Shot() (picture []byte) {
	p.t.Helper()
	p.Run(chromedp.CaptureScreenshot(&picture))
	return picture
}

// Clean fails the test where the page has faults, but for those with a text that is expected, or
// asked another host.
func (p *Page) Clean(host string, expected ...string) {
	p.t.Helper()
	faults := slices.DeleteFunc(p.Faults(), func(fault string) bool {
		return slices.ContainsFunc(expected, func(text string) bool { return strings.Contains(fault, text) })
	})
	if len(faults) > 0 {
		p.t.Errorf("%d faults: %s", len(faults), strings.Join(faults[:min(5, len(faults))], "\n"))
	}
	if others := p.Requested(host); len(others) > 0 {
		p.t.Error(fmt.Sprintf("asked elsewhere: %q", others))
	}
}
