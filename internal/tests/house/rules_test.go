package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/client"
	"mcpc/internal/tests/module"
)

// The rules of the tree: which package may import which, where each third-party module
// is imported, and which names only certain files may use.
// docs/dev/architecture.md has the reasons.

// floors are the packages below internal/ from the bottom up. A package imports packages of lower
// floors, and of its own floor as floorRules allow.
var floors = [][]string{
	{
		"compress", "english", "httpconn", "jsonraw", "loopback", "pause", "recent", "sanitize", "shellwords",
		"sliceutil", "spool", "sse", "tty",
	},
	{
		"exchange", "glossary", "match", "mcp", "mcpserver", "otlp", "redact", "schema", "skill", "suggest", "usage", "wire",
		"yaml",
	},
	{
		"bench", "capture", "card", "client", "codegen", "demo", "diff", "fuzz", "judge", "lint", "mock", "question",
		"reload", "render", "saved", "shape", "state", "target", "telemetry", "validate",
	},
	{"connect", "live", "proxy", "tui", "web"},
	{
		"cli/clientfile", "cli/clienttable", "cli/cmdutil", "cli/console", "cli/faulty", "cli/liveview", "cli/meant", "cli/recorded",
		"cli/share",
	},
	{
		"cli/app", "cli/auth", "cli/batch", "cli/bench", "cli/call", "cli/catalog", "cli/check", "cli/codegen", "cli/diff",
		"cli/help", "cli/inspect", "cli/judge", "cli/mock", "cli/proxy", "cli/replay", "cli/run",
		"cli/serve", "cli/session", "cli/shell", "cli/skills", "cli/traffic",
	},
	{"cli"},
	{"tests"},
}

// The floors with special rules.
const (
	subjectFloor = 2 // each package is one subject, and imports its own subpackages only
	groupFloor   = 5 // the commands
	testFloor    = 7 // shared by tests: it may import anything, and only tests import it
)

// neverInConnect is what the library of connections does without.
var neverInConnect = []string{"mcpc/internal/render", "github.com/spf13/cobra", "github.com/spf13/pflag"}

// neverInWire: wire has no sockets, no clock and no printing.
var neverInWire = []string{"net", "net/http", "os", "os/exec", "log", "log/slog"}

// mainOnly are the functions and variables that only main.go may use.
var mainOnly = []string{"os.Exit", "os.Args", "os.Getenv", "os.LookupEnv", "os.Environ", "time.Now"}

// timers are the functions that wait; timerFiles may call one, each for the reason in its comment.
var timers = []string{"time.Sleep", "time.After", "time.AfterFunc", "time.NewTimer", "time.NewTicker", "time.Tick"}

// timerFiles are the files that wait for a time.
var timerFiles = []string{
	"internal/cli/batch/results.go",            // writes what is done after a moment
	"internal/cli/catalog/servers_watch.go",    // the time of --watch between two rounds
	"internal/cli/catalog/watch.go",            // does not read the lists more often than once a second
	"internal/cli/console/signal_unix.go",      // gives a child time to end
	"internal/cli/console/progress_ticker.go",  // draws
	"internal/cli/cmdutil/subscription.go",     // --for, and looks whether stdout is read
	"internal/cli/traffic/follow.go",           // --follow
	"internal/client/auth/device.go",           // polls at the server's interval
	"internal/client/connection.go",            // the answers under way when a session is closed
	"internal/client/keepalive/conn.go",        // the greeting of a supervisor
	"internal/client/keepalive/supervisor.go",  // the idle time of a kept server
	"internal/client/process/orphans_linux.go", // orphans
	"internal/client/process/process.go",       // grace of a process
	"internal/client/request_timers.go",        // the limits of a request
	"internal/client/roots.go",                 // asks before it answers
	"internal/client/transport/http_end.go",    // the end of a session
	"internal/client/transport/http_sse.go",    // a POST whose answer came
	"internal/client/transport/http_stream.go", // a stream that continues after its response
	"internal/connect/host/read_file.go",       // --max-time of a file
	"internal/live/run.go",                     // looks whether recordings have grown
	"internal/mock/connection.go",              // scripted delays
	"internal/mock/http.go",                    //
	"internal/mock/stdio.go",                   //
	"internal/otlp/send/wait.go",               // batches and intervals of telemetry, attempts again
	"internal/reload/files.go",                 // files that still change
	"internal/state/files.go",                  // a lock that is kept too long
	"internal/capture/queue.go",                // writes in blocks
	"internal/telemetry/live.go",               // looks at failed requests again while no frames come
	"internal/pause/pause.go",                  // fault rules, --latency, tools of the demo, ping --wait
}

// eraFiles are the only files that may name an era or a revision.
var eraFiles = []string{
	"internal/client/era.go", "internal/client/legacy.go", "internal/client/modern.go",
	"internal/client/listen_legacy.go", "internal/client/listen_modern.go",
	"internal/client/task_legacy.go", "internal/client/task_modern.go",
	"internal/client/auth/era.go",
	"internal/client/negotiate.go", "internal/demo/era.go", "internal/lint/conv/era.go", "internal/mock/behavior.go",
	"internal/mcpserver/bridge/era.go", "internal/judge/era.go",
}

// within reports that a package is another one or below it.
func within(path, parent string) bool { return path == parent || strings.HasPrefix(path, parent+"/") }

// floorOf is the floor of a package and the name of its subject there, "client" for
// mcpc/internal/client/auth; -1 for any other import path.
func floorOf(path string) (floor int, subject string) {
	name, internal := strings.CutPrefix(path, "mcpc/internal/")
	if !internal {
		return -1, ""
	}
	floor = -1
	for n, names := range floors {
		for _, s := range names {
			if within(name, s) && len(s) > len(subject) {
				floor, subject = n, s
			}
		}
	}
	return floor, subject
}

func isNeverInConnect(path string) bool {
	return slices.ContainsFunc(neverInConnect, func(never string) bool { return within(path, never) })
}

func TestPackagesImportLowerFloors(t *testing.T) {
	for _, v := range floorViolations(module.Packages(t)) {
		t.Error(v)
	}
}

func floorViolations(all []module.Package) (violations []string) {
	report := func(p module.Package, imported, rule string) {
		violations = append(violations, p.ImportPath+" imports "+imported+": "+rule)
	}
	for _, p := range all {
		floor, subject := floorOf(p.ImportPath)
		if floor < 0 && strings.HasPrefix(p.ImportPath, "mcpc/internal/") {
			violations = append(violations, p.ImportPath+" has no floor")
		}
		for _, imported := range p.Imports {
			to, of := floorOf(imported)
			switch {
			case subject == "wire" && slices.Contains(neverInWire, imported):
				report(p, imported, "wire has no sockets, no clock, no printing")
			case subject == "connect" && isNeverInConnect(imported):
				report(p, imported, "connect is a library without commands and output")
			case to == testFloor && floor != testFloor:
				report(p, imported, "only tests import it")
			case floor < 0 || to < 0:
			case to > floor:
				report(p, imported, "it is of a higher floor")
			case to == floor && subject != of && (floor == subjectFloor || floor == groupFloor):
				report(p, imported, "packages of this floor do not import each other")
			}
		}
	}
	return violations
}

func TestEachModuleHasOneImporter(t *testing.T) {
	for _, v := range doorViolations(module.Packages(t)) {
		t.Error(v)
	}
}

func doorViolations(all []module.Package) (violations []string) {
	doors := map[string]string{}
	for _, p := range all {
		if floor, _ := floorOf(p.ImportPath); floor == testFloor {
			continue
		}
		for _, imported := range p.Imports {
			module := moduleOf(imported)
			if module == "" {
				continue
			}
			if strings.HasPrefix(module, "github.com/spf13/") && strings.HasPrefix(p.ImportPath, "mcpc/internal/cli") {
				continue // each command declares its flags
			}
			own := p.ImportPath
			if own == "mcpc/scripts/conformance" {
				continue // it extends the demo server, through the demo's own module
			}
			if _, subject := floorOf(own); subject != "" { // its subpackages share the door
				own = "mcpc/internal/" + subject
			}
			if door := doors[module]; door != "" && door != own {
				violations = append(violations, module+" has two doors: "+door+" and "+own)
			}
			doors[module] = own
		}
	}
	return violations
}

// moduleOf gives the first parts of a third-party import path, or "". cobra and its flags are one
// thing; the packages of golang.org/x/net are several. golang.org/x/sys has what syscall lacks, and
// is used where syscall is.
func moduleOf(path string) string {
	host, _, _ := strings.Cut(path, "/")
	if !strings.Contains(host, ".") || strings.HasPrefix(path, "golang.org/x/sys/") {
		return ""
	}
	parts := strings.Split(path, "/")
	if strings.HasPrefix(path, "golang.org/x/net/") {
		return path
	}
	return strings.Join(parts[:min(3, len(parts))], "/")
}

func TestOnlyMainUsesProcessGlobals(t *testing.T) {
	module.EachFile(t, func(name string, fset *token.FileSet, file *ast.File) {
		if name == "cmd/mcpc/main.go" || name == "scripts/conformance/main.go" {
			return
		}
		for _, use := range usesOf(file, mainOnly) {
			t.Errorf("%s uses %s: only main.go may", name, use)
		}
	})
}

// usesOf are the uses of some names of packages in a file.
func usesOf(file *ast.File, names []string) (uses []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && slices.Contains(names, pkg.Name+"."+sel.Sel.Name) {
				uses = append(uses, pkg.Name+"."+sel.Sel.Name)
			}
		}
		return true
	})
	return uses
}

func TestErasAreNamedInEraFilesOnly(t *testing.T) {
	module.EachFile(t, func(name string, fset *token.FileSet, file *ast.File) {
		if slices.Contains(eraFiles, name) {
			return
		}
		for _, word := range eraWords(file) {
			t.Errorf("%s says %s: only the era files may", name, word)
		}
	})
}

func eraWords(file *ast.File) (words []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if lower := strings.ToLower(n.Name); lower == "legacy" || lower == "modern" {
				words = append(words, n.Name)
			}
		case *ast.BasicLit:
			for _, revision := range client.Revisions() {
				if n.Kind == token.STRING && strings.Contains(n.Value, revision) {
					words = append(words, n.Value)
				}
			}
		}
		return true
	})
	return words
}

func TestOnlyListedFilesUseTimers(t *testing.T) {
	module.EachFile(t, func(name string, fset *token.FileSet, file *ast.File) {
		uses := usesOf(file, timers)
		if len(uses) > 0 && strings.HasPrefix(name, "internal/") && !slices.Contains(timerFiles, name) {
			t.Errorf("%s uses %s: timerFiles lists what waits, and why", name, uses[0])
		}
	})
}

// A server's name for itself is shown and remembered, and nothing depends on it: other code that
// read it would decide by it.
//
// rules 121
func TestServerInfoIsOnlyShown(t *testing.T) {
	shows := []string{
		"internal/cli/bench/target.go", "internal/cli/catalog/info.go", "internal/cli/codegen/codegen.go",
		"internal/cli/diff/live.go", "internal/cli/liveview/catalog.go", "internal/cli/recorded/line.go", "internal/cli/share/bundle.go", "internal/cli/session/init.go", "internal/cli/session/sessions.go",
		"internal/connect/answers.go", "internal/connect/conn.go", "internal/connect/server_info.go",
		"internal/connect/gateway/gateway.go", // passes it on
		"internal/client/era.go", "internal/client/legacy.go", "internal/client/modern.go",
		"internal/client/session.go", "internal/exchange/conversation.go", "internal/lint/rules/versions.go",
		"internal/live/view/summary.go", "internal/mcp/request.go", "internal/state/session.go",
	}
	module.EachFile(t, func(name string, fset *token.FileSet, file *ast.File) {
		uses, judges := serverInfoUses(file)
		if uses && !slices.Contains(shows, name) {
			t.Errorf("%s uses what a server calls itself", name)
		}
		if judges {
			t.Errorf("%s compares what a server calls itself", name)
		}
	})
}

// serverInfoUses reports whether a file uses a server's info, and whether it compares it with
// anything but nil.
func serverInfoUses(file *ast.File) (uses, judges bool) {
	names := func(n ast.Node) (found bool) {
		ast.Inspect(n, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			found = found || ok && strings.EqualFold(id.Name, "serverInfo")
			return true
		})
		return found
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok && (b.Op == token.EQL || b.Op == token.NEQ) && (names(b.X) || names(b.Y)) {
			id, ok := b.Y.(*ast.Ident)
			judges = judges || !ok || id.Name != "nil"
		}
		return true
	})
	return names(file), judges
}

// A regular expression is compiled at its first use, so that not every start pays for it.
func TestNoRegularExpressionIsCompiledAtStart(t *testing.T) {
	module.EachFile(t, func(name string, fset *token.FileSet, file *ast.File) {
		if n := compiledAtStart(file); n > 0 {
			t.Errorf("%s compiles %d regular expressions at each start: sync.OnceValue", name, n)
		}
	})
}

func compiledAtStart(file *ast.File) (n int) {
	for _, decl := range file.Decls {
		if vars, ok := decl.(*ast.GenDecl); ok {
			ast.Inspect(vars, func(node ast.Node) bool {
				if sel, ok := node.(*ast.SelectorExpr); ok && strings.HasPrefix(sel.Sel.Name, "MustCompile") {
					n++
				}
				_, later := node.(*ast.FuncLit)
				return !later
			})
		}
	}
	return n
}

// The rules above must be able to fail.
func TestHouseRulesFindViolations(t *testing.T) {
	floor := floorViolations([]module.Package{
		{ImportPath: "mcpc/internal/render", Imports: []string{
			"mcpc/internal/client", "mcpc/internal/render/term", "mcpc/internal/wire",
		}},
		{ImportPath: "mcpc/internal/wire", Imports: []string{"net/http", "mcpc/internal/state"}},
		{ImportPath: "mcpc/internal/connect/toolcall", Imports: []string{
			"mcpc/internal/connect", "mcpc/internal/render/term", "mcpc/internal/cli/cmdutil",
		}},
		{ImportPath: "mcpc/internal/cli/call", Imports: []string{"mcpc/internal/cli/cmdutil", "mcpc/internal/cli/run"}},
		{ImportPath: "mcpc/internal/new"},
		{ImportPath: "mcpc/internal/cli", Imports: []string{"mcpc/internal/tests/servers"}},
		{ImportPath: "mcpc/cmd/mcpc", Imports: []string{"mcpc/internal/tests/servers"}},
		{ImportPath: "mcpc/internal/tests/scripts", Imports: []string{
			"mcpc/internal/tests/servers", "mcpc/internal/cli",
		}},
	})
	if len(floor) != 9 {
		t.Errorf("floors: got %q, want nine violations", floor)
	}
	small, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
func f() { time.Sleep(1) }`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got := usesOf(small, timers); len(got) != 1 {
		t.Errorf("timers: got %q, want one use", got)
	}
	doors := doorViolations([]module.Package{
		{ImportPath: "mcpc/internal/render", Imports: []string{"github.com/a/b/v2/c"}},
		{ImportPath: "mcpc/internal/state", Imports: []string{"github.com/a/b"}},
	})
	if len(doors) != 1 {
		t.Errorf("doors: got %q, want one violation", doors)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
var modern = "2025-06-18"
var word, later = regexp.MustCompile("x"), sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("y") })
func f() { os.Exit(time.Now()) }`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got := usesOf(file, mainOnly); len(got) != 2 {
		t.Errorf("world: got %q, want two uses", got)
	}
	if got := compiledAtStart(file); got != 1 {
		t.Errorf("compiled at start: got %d, want one", got)
	}
	if got := eraWords(file); len(got) != 2 {
		t.Errorf("eras: got %q, want two words", got)
	}
	file, err = parser.ParseFile(token.NewFileSet(), "x.go", `package x
func f() bool { return info.ServerInfo != nil && name(info.ServerInfo) == "x" }`, parser.SkipObjectResolution)
	if uses, judges := serverInfoUses(file); err != nil || !uses || !judges {
		t.Errorf("server info: got %t %t %v, want a use and a comparison", uses, judges, err)
	}
}
