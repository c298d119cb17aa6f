//go:build programs

package docs

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcpc/internal/demo"
	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/program"
	"mcpc/internal/tests/servers"
)

// Only an executed example is right. Every console block of the README and of docs/ runs here, in
// order, in an empty directory: lines with "$ " are commands, the lines after them what they print,
// and "..." matches any number of lines, or the rest of one. Stderr is compared if the block shows
// it, after stdout. A block of YAML becomes a file, which its first line names.

// standIns replaces the usual port and an npm package in the documents by the demo: the
// tests need no network and no fixed port. A server with tasks, which the demo has not,
// is replaced by a script. The tests with real servers call the package itself.
func standIns(url, tasks, protected, port string) *strings.Replacer {
	return strings.NewReplacer("http://localhost:3001/mcp", url, "http://localhost:3002/mcp", tasks, "http://localhost:3003", protected, "8976", port,
		"npx -y @modelcontextprotocol/server-everything stdio", "mcpc demo --stdio")
}

func TestDocumentedConsole(t *testing.T) {
	found := 0
	for _, name := range documents(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		blocks := consoleBlock.FindAllStringSubmatch(string(text), -1)
		if found += len(blocks); len(blocks) == 0 {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			runBlocks(t, blocks)
		})
	}
	if found < 9 {
		t.Errorf("only %d console blocks were found", found)
	}
}

var consoleBlock = regexp.MustCompile("(?s)```(console|yaml)\n(.*?)```")

func runBlocks(t *testing.T, blocks [][]string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/mcp", demo.Handler(demo.Options{}))
	server := httptest.NewUnstartedServer(mux)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server.Listener.Close()
	server.Listener = l
	server.Start()
	defer server.Close()
	port := l.Addr().(*net.TCPAddr).Port
	sh := newShell(t)
	swap := standIns(strings.Replace(server.URL, "127.0.0.1", "localhost", 1)+"/mcp", tasksStandIn(t), protectedStandIn(t), program.FreePort(t))
	for _, block := range blocks {
		if block[1] == "yaml" {
			sh.write(t, swap.Replace(block[2]))
			continue
		}
		for _, step := range splitSteps(swap.Replace(block[2])) {
			// A session is named after its port.
			step.want = strings.ReplaceAll(step.want, "localhost-3001", "localhost-"+strconv.Itoa(port))
			sh.run(t, step)
		}
	}
}

// protectedStandIn is what mcpc demo --auth is.
func protectedStandIn(t *testing.T) (url string) {
	t.Helper()
	server := httptest.NewServer(demo.Protect(demo.Handler(demo.Options{}), time.Now))
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
}

// tasksStandIn plays testdata/tasks.play, in the words of server-everything.
func tasksStandIn(t *testing.T) (url string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "tasks.play"))
	if err != nil {
		t.Fatal(err)
	}
	s := servers.ForTest(t)
	if err := s.Play(string(text)); err != nil {
		t.Fatal(err)
	}
	return s.URL("/mcp")
}

type step struct{ command, want string }

func splitSteps(block string) []step {
	var steps []step
	for _, line := range strings.SplitAfter(block, "\n") {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			steps = append(steps, step{command: strings.TrimSuffix(command, "\n")})
		} else if len(steps) > 0 {
			steps[len(steps)-1].want += line
		}
	}
	return steps
}

// sessionShell runs commands one after the other, as a person at a prompt: $? is what
// the command before ended with.
type sessionShell struct {
	dir  string
	env  []string
	last int
}

func newShell(t *testing.T) *sessionShell {
	t.Helper()
	// mcpc is on the PATH: see TestMain.
	env := append(program.CleanEnv(),
		"MCPC_STATE="+t.TempDir(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME=", "MCPC_SERVER=", "BROWSER=visit", "LC_ALL=C.UTF-8")
	return &sessionShell{dir: t.TempDir(), env: env}
}

func (s *sessionShell) run(t *testing.T, st step) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command("bash", "-c", "(exit "+strconv.Itoa(s.last)+"); "+st.command)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.dir, s.env, &stdout, &stderr
	_ = cmd.Run()
	s.last = cmd.ProcessState.ExitCode()
	got := stdout.String() + stderr.String()
	if !clitest.Matches(st.want, got) {
		t.Errorf("$ %s\ngot:\n%s\nwant:\n%s", st.command, got, st.want)
	}
}

// write makes the file that a block of YAML is: its first line is "# NAME".
func (s *sessionShell) write(t *testing.T, text string) {
	t.Helper()
	first, _, _ := strings.Cut(text, "\n")
	name, ok := strings.CutPrefix(first, "# ")
	if !ok || filepath.Base(name) != name {
		t.Fatalf("a block of YAML begins with the name of its file, and not with %q", first)
	}
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
