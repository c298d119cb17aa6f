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

// patience is the time limit for every step of a page.
const patience = 90 * time.Second

// A Browser is a Chromium without a window and with a separate profile.
type Browser struct {
	ctx context.Context
	// profile is the profile in a shared Chromium, or "" if it is the first profile.
	profile cdp.BrowserContextID
}

// Start starts a Browser. It ends with the test.
func Start(t testing.TB, more ...chromedp.ExecAllocatorOption) *Browser {
	t.Helper()
	ctx, end, err := launch(more...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return &Browser{ctx: ctx}
}

// endShared ends the shared Chromium. It is nil until shared is called.
var endShared func()

// startShared starts the Chromium that the tests of a package share, once.
var startShared = sync.OnceValues(func() (context.Context, error) {
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

// Share returns a Browser in the Chromium that the tests of a package share. It starts faster than
// a separate Chromium and has an empty profile. The TestMain of the package must call Main.
func Share(t testing.TB) *Browser {
	t.Helper()
	ctx, err := startShared()
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
	// A new tab opens in a window of its profile, so the profile needs a window.
	_, err = target.CreateTarget("about:blank").WithBrowserContextID(profile).WithNewWindow(true).Do(browser)
	if err != nil {
		t.Fatalf("chromium opens no window: %v", err)
	}
	return &Browser{ctx: ctx, profile: profile}
}

// launch starts Chromium. It returns the context of the first tab and a function that ends
// Chromium.
func launch(more ...chromedp.ExecAllocatorOption) (ctx context.Context, end func(), err error) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		return nil, nil, fmt.Errorf("%w; this test needs it: apt-get install chromium", err)
	}
	profile, err := os.MkdirTemp("", "mcpc-chromium-")
	if err != nil {
		return nil, nil, err
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(chromium), chromedp.UserDataDir(profile), chromedp.Flag("headless", "new"), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.NoDefaultBrowserCheck, chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.WSURLReadTimeout(patience), chromedp.WindowSize(1280, 800),
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), append(options, more...)...)
	ctx, leave := chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {})) // chromedp logs events that it does not support
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
		_ = os.RemoveAll(filepath.Dir(socket)) // a killed Chromium leaves the directory of its socket
	}
	// The last processes of Chromium still write for a moment, and may create the directory again.
	end := time.Now().Add(patience)
	for (isUsed(profile) || os.RemoveAll(profile) != nil) && time.Now().Before(end) {
		_ = pause.For(context.Background(), 50*time.Millisecond)
	}
}

// isUsed reports whether a process has the folder in its command line, as the processes of Chromium
// do.
func isUsed(folder string) bool {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(lines, func(name string) bool {
		line, err := os.ReadFile(name)
		return err == nil && bytes.Contains(line, []byte(folder))
	})
}

// A Page is a tab with the faults and requests that it reported.
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
	chromedp.ListenTarget(ctx, p.recordEvent)
	p.Run(cdplog.Enable(), runtime.AddBinding("mcpcViolated"), chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(`addEventListener('securitypolicyviolation', e => mcpcViolated(e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sample))`).Do(ctx)
		return err
	}))
	return p
}

// recordEvent records the fault or the request in an event of the tab.
func (p *Page) recordEvent(event any) {
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

// Faults returns the errors on the console, the exceptions, and the violations of the page's
// policy.
func (p *Page) Faults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.faults...)
}

// ClearRecorded removes the recorded faults and requests.
func (p *Page) ClearRecorded() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults, p.requested = nil, nil
}

// RequestedElsewhere returns the requested URLs of all hosts except host.
func (p *Page) RequestedElsewhere(host string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var others []string
	for _, text := range p.requested {
		u, err := url.Parse(text)
		if err != nil || u.Host != host && u.Scheme != "data" && u.Scheme != "blob" && u.Scheme != "about" {
			others = append(others, text)
		}
	}
	return others
}

// Run runs actions in the tab. The test fails if an action fails.
func (p *Page) Run(actions ...chromedp.Action) {
	p.t.Helper()
	// The first action creates the tab, so it must run in the context of the tab.
	if err := chromedp.Run(p.Ctx, append([]chromedp.Action{}, actions...)...); err != nil {
		p.t.Fatal(err)
	}
}

// Load loads a URL.
func (p *Page) Load(url string) {
	p.t.Helper()
	p.Run(chromedp.Navigate(url))
}

// Eval evaluates an expression, awaits its value if it is a promise, and decodes the value into
// into. into may be nil.
func (p *Page) Eval(expression string, into any) {
	p.t.Helper()
	if err := p.eval(expression, into); err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
}

// eval evaluates an expression within patience, and decodes its value into into unless it is nil.
func (p *Page) eval(expression string, into any) error {
	ctx, stop := context.WithTimeout(p.Ctx, patience)
	defer stop()
	return chromedp.Run(ctx, chromedp.ActionFunc(func(ctx context.Context) error {
		got, thrown, err := runtime.Evaluate(expression).WithAwaitPromise(true).WithReturnByValue(true).Do(ctx)
		if err != nil {
			return err
		}
		if thrown != nil {
			return thrown
		}
		if into == nil || got.Value == nil {
			return nil
		}
		return json.Unmarshal(got.Value, into)
	}))
}

// Text returns the value of an expression as text.
func (p *Page) Text(expression string) string {
	p.t.Helper()
	var text string
	p.Eval("String("+expression+")", &text)
	return text
}

// Await waits until an expression is true. The test fails after patience.
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

// Type types text. "\r", "\t" and kb.Escape are keys. As from a keyboard, and unlike with
// chromedp.KeyEvent, a key and its character are one event, so that the page can prevent it.
func (p *Page) Type(keys string) {
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

// SetSize sets the size and the zoom of the window.
func (p *Page) SetSize(width, height int64, zoom float64) {
	p.t.Helper()
	p.Run(emulation.SetDeviceMetricsOverride(int64(float64(width)/zoom), int64(float64(height)/zoom), zoom, false))
}

// SetColorScheme sets the colour scheme: "dark" or "light".
func (p *Page) SetColorScheme(name string) {
	p.t.Helper()
	p.Run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}))
}

// Screenshot returns a picture of the tab as PNG.
func (p *Page) Screenshot() []byte {
	p.t.Helper()
	var picture []byte
	p.Run(chromedp.CaptureScreenshot(&picture))
	return picture
}

// AssertClean fails the test if the page has faults, except faults with an expected text, or requested a
// different host.
func (p *Page) AssertClean(host string, expected ...string) {
	p.t.Helper()
	faults := slices.DeleteFunc(p.Faults(), func(fault string) bool {
		return slices.ContainsFunc(expected, func(text string) bool { return strings.Contains(fault, text) })
	})
	if len(faults) > 0 {
		p.t.Errorf("%d faults: %s", len(faults), strings.Join(faults[:min(5, len(faults))], "\n"))
	}
	if others := p.RequestedElsewhere(host); len(others) > 0 {
		p.t.Errorf("asked elsewhere: %q", others)
	}
}
