//go:build peers

package peers

import (
	"archive/zip"
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpc/internal/tests/chromium"
	"mcpc/internal/tests/program"
	"mcpc/internal/tests/terminal"
)

// The jobs that people open mcpc inspect for, in a terminal and in Chromium, over recordings of
// real clients and servers.

var shots = flag.String("shots", "", "write pictures of the page and the terminal, job by job, to a directory")

// jobPatience is how long anything may take.
const jobPatience = 90 * time.Second

// A lab has the recordings that the jobs share.
type lab struct {
	t       *testing.T
	env     []string
	home    string
	tools   []string          // node, jobs.cjs and where its packages are
	proxies map[string]string // the URL of the proxy of a peer
}

// newLab has recordings made by the clients, which end before it returns.
func newLab(t *testing.T) *lab {
	t.Helper()
	l := bareLab(t, map[string]string{
		"everything-http": "", "everything-2026-01-http": "", "ts-server-http": "",
		"go-sdk-events": "when name:trigger-long-running-operation do cut after event 2",
	})
	v1, v2 := append(nodeArgv(t), filepath.Join(peersDir(t), "ts-clients", "v1.mjs")), append(nodeArgv(t), filepath.Join(peersDir(t), "ts-clients", "v2.mjs"))
	tap := func(name string) []string {
		return append([]string{"stdio", "mcpc", "tap", "--"}, peerNamed(t, name).start(t)[1:]...)
	}
	proxy := func(name string) []string { return []string{"http", l.proxies[name]} }
	var all []func() string
	begin := func(argv []string, target []string, env ...string) {
		all = append(all, l.start(append(append([]string{}, argv...), target...), env...))
	}
	begin(l.job("pages"), tap("go-sdk-stdio"))
	begin(l.job("hang"), tap("everything-stdio"), "HANG_FOR=1000")
	begin(l.job("many"), proxy("everything-http"))
	begin(l.job("asks"), proxy("everything-http"))
	begin(l.job("cut"), proxy("go-sdk-events"))
	begin(v2, proxy("ts-server-http"))
	begin(append(nodeArgv(t), filepath.Join(peersDir(t), "inspector", "session.mjs")), proxy("ts-server-http"), "METHOD=prompts/get")
	begin([]string{filepath.Join(peersDir(t), "bin", "go-client")}, tap("ts-server-stdio"))
	secrets := []string{"TOKEN=abcdefgh12345678secrettoken", "API_KEY=sk-1234567890abcdefghijklmn"}
	begin(l.job("secrets"), proxy("everything-http"), secrets...)
	begin(l.job("secrets"), proxy("ts-server-http"), secrets...)
	for _, ended := range all {
		ended()
	}
	l.start(append(v1, proxy("everything-2026-01-http")...))()
	l.start(append(v1, proxy("everything-http")...))() // the newest of all
	return l
}

// bareLab has proxies before peers, each with a fault rule unless it is "".
func bareLab(t *testing.T, rules map[string]string) *lab {
	t.Helper()
	home, err := os.MkdirTemp("", "mc") // short: sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		awaitRecorders(t, home)
		os.RemoveAll(home)
	})
	script, err := filepath.Abs(filepath.Join("testdata", "jobs.cjs"))
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{
		t: t, home: home, env: append(program.CleanEnv(), "MCPC_STATE="+home, "HOME="+home, "LC_ALL=C.UTF-8"), proxies: map[string]string{},
		tools: append(nodeArgv(t), script, filepath.Join(peersDir(t), "ts-clients", "package.json")),
	}
	type ready struct{ name, at string }
	found := make(chan ready)
	for name, rule := range rules {
		direct := peerNamed(t, name).start(t)[1]
		words := []string{"proxy", "--to", direct, "--listen", "127.0.0.1:0"}
		if rule != "" {
			words = append(words, "--fault", rule)
		}
		go func() { found <- ready{name, l.serve(words...)} }()
	}
	for range rules {
		r := <-found
		if r.at == "" {
			t.Fatalf("the proxy of %s does not listen", r.name)
		}
		l.proxies[r.name] = r.at
	}
	return l
}

// awaitRecorders waits until no recorder has a file open in the state directory: a tap ends after its client.
func awaitRecorders(t *testing.T, state string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(state, "traffic", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			t.Error(err)
		}
		f.Close()
	}
}

func (l *lab) job(name string) []string { return append(append([]string{}, l.tools...), name) }

// serve starts mcpc as a server, and returns its URL, or "" if it has no URL.
func (l *lab) serve(words ...string) (at string) {
	cmd := exec.Command("mcpc", words...)
	cmd.Env = l.env
	stderr, err := cmd.StderrPipe()
	if err != nil || cmd.Start() != nil {
		return ""
	}
	found := make(chan string, 1)
	go func() {
		defer close(found)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if _, rest, ok := strings.Cut(lines.Text(), "listening on "); ok && at == "" {
				found <- strings.Fields(rest)[0]
			}
		}
	}()
	l.t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGINT); _ = cmd.Wait() })
	return <-found
}

// start starts a client, and returns a function that waits for its end and returns its output.
func (l *lab) start(argv []string, env ...string) (ended func() string) {
	l.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(append([]string{}, l.env...), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	return func() string {
		l.t.Helper()
		stop := time.AfterFunc(jobPatience, func() { _ = cmd.Process.Kill() })
		defer stop.Stop()
		if err := cmd.Wait(); err != nil {
			l.t.Fatalf("%q: %v\n%s%s", argv, err, stdout.String(), stderr.String())
		}
		return stdout.String()
	}
}

// count returns how many recorded exchanges match a filter.
func (l *lab) count(filter string) int {
	l.t.Helper()
	return strings.Count(l.start([]string{"mcpc", "log", filter, "-n", "0", "--jsonl"})(), "\n")
}

// A tty is mcpc inspect in a terminal.
type tty struct {
	t    *testing.T
	tm   *terminal.Terminal
	w, h int
	n    int
}

func (l *lab) tty(t *testing.T, w, h int, words ...string) *tty {
	t.Helper()
	cmd := exec.Command("mcpc", append([]string{"inspect"}, words...)...)
	cmd.Dir, cmd.Env = t.TempDir(), append(append([]string{}, l.env...), "TERM=xterm-256color")
	return &tty{t: t, tm: terminal.StartCommand(t, h, w, cmd), w: w, h: h}
}

func (y *tty) keys(keys ...string) {
	y.t.Helper()
	for _, key := range keys {
		if want, awaited := strings.CutPrefix(key, "~"); awaited {
			y.sees(want)
			continue
		}
		y.tm.Type(key)
		y.n++
	}
}

func (y *tty) screen() string {
	s := terminal.NewScreen(y.w, y.h)
	text := s.Show(y.tm.Output())
	if unknown := s.Unknown(); len(unknown) > 0 {
		y.t.Errorf("sequences that the test does not know: %q", unknown)
	}
	return text
}

// sees waits until the screen matches the pattern, and returns the match and its groups.
func (y *tty) sees(pattern string) []string {
	y.t.Helper()
	want := regexp.MustCompile(pattern)
	isSpace := func(r rune) bool { return r == ' ' || r == '\n' || r == '│' }
	for end := time.Now().Add(jobPatience); ; time.Sleep(10 * time.Millisecond) {
		text := y.screen()
		if found := want.FindStringSubmatch(text); found != nil {
			return found
		}
		if found := want.FindStringSubmatch(strings.Join(strings.FieldsFunc(text, isSpace), " ")); found != nil {
			return found
		}
		if time.Now().After(end) {
			y.t.Fatalf("the terminal never showed %s:\n%s", pattern, text)
		}
	}
}

// A paged is mcpc inspect --web in Chromium.
type paged struct {
	*chromium.Page
	t    *testing.T
	host string
	n    int
}

func (l *lab) paged(t *testing.T, b *chromium.Browser, words ...string) *paged {
	t.Helper()
	cmd := exec.Command("mcpc", append([]string{"inspect", "--web", "--no-open"}, words...)...)
	cmd.Dir, cmd.Env = t.TempDir(), l.env
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGINT); _ = cmd.Wait() })
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatal("no address was printed")
	}
	at, err := url.Parse(lines.Text())
	if err != nil {
		t.Fatal(err)
	}
	p := &paged{Page: b.Tab(t), t: t, host: at.Host}
	p.Load(lines.Text())
	p.Await(`document.querySelector('.views') && !document.querySelector('.counts').textContent.includes('reading')`)
	p.Eval(`document.activeElement.blur()`, nil)
	return p
}

func (p *paged) keys(keys ...string) {
	p.t.Helper()
	for _, key := range keys {
		if want, awaited := strings.CutPrefix(key, "~"); awaited {
			p.sees(want)
			continue
		}
		p.Type(key)
		p.n++
	}
}

// sees waits until the page's text matches the pattern, and returns the match and its groups.
func (p *paged) sees(pattern string) (found []string) {
	p.t.Helper()
	match := "document.body.innerText.match(new RegExp(String.raw`" + pattern + "`))"
	p.Await("(window.found = " + match + ")")
	p.Eval("Array.from(found)", &found)
	return found
}

// shoot writes pictures of a job where they were asked for.
func (p *paged) shoot(job string) {
	if *shots == "" {
		return
	}
	save := func(name string) {
		p.Await(`new Promise(r => setTimeout(r, 300)).then(() => true)`)
		if err := os.WriteFile(filepath.Join(*shots, job+"-"+name+".png"), p.Screenshot(), 0o600); err != nil {
			p.t.Error(err)
		}
	}
	for _, scheme := range []string{"light", "dark"} {
		p.SetColorScheme(scheme)
		p.SetSize(1440, 900, 1)
		save("1440-" + scheme)
	}
	p.SetColorScheme("light")
	p.SetSize(800, 600, 1)
	save("800")
	p.SetSize(1440, 900, 2)
	save("zoom")
	p.SetSize(1280, 800, 1)
}

func (y *tty) shoot(job string) {
	if *shots == "" {
		return
	}
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		y.w, y.h = size[0], size[1]
		y.tm.Resize(y.h, y.w)
		time.Sleep(time.Second)
		name := filepath.Join(*shots, job+"-"+map[int]string{80: "80x24", 120: "120x40", 200: "200x60"}[y.w]+".txt")
		if err := os.WriteFile(name, []byte(y.screen()), 0o600); err != nil {
			y.t.Error(err)
		}
	}
}

// A job is what a person wants to know, with the words after mcpc inspect, the keys, and
// what is then on the screen.
type job struct {
	name   string
	words  []string
	budget int
	// keys are typed; the text after "~" must be shown before the next.
	keys     []string
	sees     []string
	pageSees []string // if it is not the same
	// atLeast is the shortest duration that the only group of sees may be, 0 if it has no group.
	atLeast time.Duration
}

var jobsByFilter = []job{
	{
		name: "1 my client does not see a tool", budget: 2, words: []string{"client:job-pages"}, keys: []string{"4"},
		sees: []string{`the list has a page 2, which was not fetched by job-pages`},
	},
	{
		name: "2 a call hangs", words: []string{"client:job-hang is:open,cancelled"}, budget: 3, keys: []string{"2", "~phases|outcome", "g", "\r"},
		sees:     []string{`trigger-lo`, `cancelled`, `cancelled by the client`, `the user pressed stop`},
		pageSees: []string{`trigger-lo`, `cancelled by the client`},
	},
	// The server waits 600 ms before it responds.
	{
		name: "3 the slow one of 500", budget: 2, words: []string{"client:job-many"}, keys: []string{"2", "S"},
		sees:     []string{`trigger-long-r\S*[\s│]+ok[\s│]+(\d[\d.]* m?s)`},
		pageSees: []string{`trigger-long-run[^]*?(\d[\d.]* m?s)`},
		atLeast:  500 * time.Millisecond,
	},
	{
		name: "4 what did the server ask", words: []string{"client:job-asks has:question"}, budget: 0,
		sees: []string{`2 (rows|exchanges)`, `asks: elicitation/create`, `asks: sampling/createMessage`, `answered`},
	},
	{
		name: "5 a cut stream", budget: 1, words: []string{"client:job-cut"}, keys: []string{"5"},
		sees: []string{`cut by the server after event \S+; resumed \S+ m?s later from\s+\S+; \d events? came; nothing\s+lost`},
	},
	{
		name: "a failing call of the Inspector", words: []string{"client:inspector-cli is:error"}, budget: 1, keys: []string{"\r"},
		sees: []string{`prompts/get`, `-32602`, `not found`},
	},
	{
		name: "9 secrets", budget: 1, words: []string{"client:job-secrets"}, keys: []string{"6"},
		sees: []string{`authorization`, `header Authorization`, `api_key`, `argument api_key`},
	},
}

func TestPeerJobs(t *testing.T) {
	l := newLab(t)
	b := chromium.Start(t)
	t.Run("6 a file for a colleague", func(t *testing.T) {
		y := l.tty(t, 120, 40, "client:job-asks")
		// The server asks for the roots only if the client listens in time.
		rows := l.count("client:job-asks")
		if rows < 8 {
			t.Fatalf("%d exchanges are recorded, want at least 8", rows)
		}
		y.sees(fmt.Sprintf(`\b%d exchanges`, rows))
		y.keys("x")
		y.sees(fmt.Sprintf(`(?s)export %d exchanges.*bundle`, rows))
		y.shoot("6")
		y.keys("\r")
		y.sees(`\.mcpcz\.html`)
		colleague(t, b, y.tm.Cmd.Dir, rows)
	})
	t.Run("8 two versions of a server", func(t *testing.T) {
		y, p := l.tty(t, 120, 40), l.paged(t, b)
		y.sees(`14 tools`)
		p.Await("document.querySelectorAll('.talk-entry').length > 5")
		y.keys("D")
		y.sees(`compare ts-v1 → mcp-servers/everything \(\S+\) with`)
		y.keys("\r")
		p.keys("D")
		p.sees(`Schemas`)
		for _, want := range []string{`[Tt]ools`, `echo: the annotation readOnlyHint changed|the description changed|was removed|is new`} {
			y.sees(want)
			p.sees(want)
		}
		y.shoot("8")
		p.shoot("8")
		p.AssertClean(p.host)
	})
	t.Run("7 watch live", func(t *testing.T) {
		l := &lab{t: t, tools: l.tools, home: t.TempDir()}
		l.env = append(program.CleanEnv(), "MCPC_STATE="+l.home, "HOME="+l.home, "LC_ALL=C.UTF-8")
		y, p := l.tty(t, 120, 40), l.paged(t, b)
		y.sees(`part of mcpc`)
		y.shoot("7-empty")
		p.shoot("7-empty")
		cmd := exec.Command(l.tools[0], append(append(l.job("hang")[1:], "stdio", "mcpc", "tap", "--"), peerNamed(t, "everything-stdio").start(t)[1:]...)...)
		cmd.Env = l.env
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`call echo \{"message":"q`, `cancelled by the client`, `answered|roots/list.*\n.*▶`, `call trigger-long-running[^\n]* … \d:\d\d`} {
			y.sees(want)
		}
		p.sees(`[12] open`)
		p.sees(`quick`)
		y.shoot("7")
		p.shoot("7")
		in.Close()
		_ = cmd.Wait()
		y.sees(`cancelled|ended`)
		p.Await("!document.querySelector('.counts').textContent.includes('open')")
		p.AssertClean(p.host)
	})
	for _, j := range jobsByFilter {
		t.Run(j.name, func(t *testing.T) {
			y, p := l.tty(t, 120, 40, j.words...), l.paged(t, b, j.words...)
			short := strings.Fields(j.name)[0]
			y.sees(`● live`)
			y.keys(j.keys...)
			for _, want := range j.sees {
				j.check(t, y.sees(want))
			}
			p.keys(j.keys...)
			if j.pageSees == nil {
				j.pageSees = j.sees
			}
			for _, want := range j.pageSees {
				j.check(t, p.sees(want))
			}
			if y.n > j.budget || p.n > j.budget {
				t.Errorf("it took %d and %d keys, and %d are allowed", y.n, p.n, j.budget)
			}
			y.shoot(short)
			p.shoot(short)
			p.AssertClean(p.host)
		})
	}
}

// check checks the duration in what was seen.
func (j *job) check(t *testing.T, found []string) {
	t.Helper()
	if j.atLeast == 0 {
		return
	}
	took, err := time.ParseDuration(strings.ReplaceAll(found[1], " ", ""))
	if err != nil || took < j.atLeast {
		t.Errorf("it took %s (%v), want %v or more, in %q", found[1], err, j.atLeast, found[0])
	}
}

// colleague opens the bundle of a directory as a double click does, from the disk and without mcpc, and checks the
// number of its exchanges.
func colleague(t *testing.T, b *chromium.Browser, dir string, exchanges int) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*.mcpcz.html"))
	if err != nil || len(found) != 1 {
		t.Fatalf("bundles: %q, %v", found, err)
	}
	z, err := zip.OpenReader(found[0])
	if err != nil {
		t.Fatal(err)
	}
	z.Close()
	p := &paged{Page: b.Tab(t), t: t}
	p.Load("file://" + found[0])
	p.sees(`asks: elicitation/create`)
	p.sees(fmt.Sprintf(`\b%d exchanges`, exchanges))
	p.shoot("6")
	p.AssertClean("")
}
