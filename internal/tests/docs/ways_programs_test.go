//go:build unix && programs

package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/tests/module"
	"mcpc/internal/tests/program"
	"mcpc/internal/yaml"
)

// These tests run the files through which programs get mcpc: the action of GitHub, the CI files of
// docs/ci, the hooks of pre-commit, and the skill.

// decodeYAML reads a YAML file of the repository.
func decodeYAML(t *testing.T, name string, to any) {
	t.Helper()
	doc, err := yaml.Parse([]byte(program.Read(t, module.Path(t, name))))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := json.Unmarshal(doc.JSON, to); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// ciDir returns a directory with the smoke.mcpc.yaml of README.md for the server at the port, a
// lock file of the demo server, and before.json: its tools with a different name for one tool.
func ciDir(t *testing.T, port string) string {
	t.Helper()
	readme := program.Read(t, module.Path(t, "README.md"))
	smoke := regexp.MustCompile("(?s)```yaml\n(# smoke.mcpc.yaml\n.*?)```").FindStringSubmatch(readme)
	if smoke == nil {
		t.Fatal("README.md has no smoke.mcpc.yaml")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "smoke.mcpc.yaml"), []byte(strings.ReplaceAll(smoke[1], "3001", port)), 0o600); err != nil {
		t.Fatal(err)
	}
	const before = "mcpc -s demo list tools --json | sed s/get-sum/get-total/ >before.json"
	if code, out := runInDir(t, dir, nil, "mcpc diff --lock demo && "+before); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	return dir
}

// runInDir runs a line of bash in a directory with a separate state.
func runInDir(t *testing.T, dir string, env []string, line string) (code int, output string) {
	t.Helper()
	cmd := exec.Command("bash", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(program.CleanEnv(), "HOME="+dir, "MCPC_STATE="+filepath.Join(dir, "state"))
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// An action is what the test needs of action.yml.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			ID, Run string
			Env     map[string]string
		}
	}
}

// environment returns the variables of the step that tests, for the inputs that a workflow names.
func (a *action) environment(t *testing.T, with map[string]string) (line string, env []string) {
	t.Helper()
	for name := range with {
		if _, found := a.Inputs[name]; !found {
			t.Fatalf("action.yml has no input %s", name)
		}
	}
	input := regexp.MustCompile(`^\$\{\{ inputs\.([a-z-]+)( \|\| '(.*)')? }}$`)
	for _, step := range a.Runs.Steps {
		if step.ID != "test" {
			continue
		}
		for name, value := range step.Env {
			if m := input.FindStringSubmatch(value); m != nil {
				declared, found := a.Inputs[m[1]]
				if !found {
					t.Fatalf("action.yml uses %s, which is no input", m[1])
				}
				value = declared.Default
				if given, found := with[m[1]]; found {
					value = given
				}
				if value == "" {
					value = m[3]
				}
			}
			env = append(env, name+"="+value)
		}
		return step.Run, env
	}
	t.Fatal("action.yml has no step test")
	return "", nil
}

func TestActionReportsEachEnding(t *testing.T) {
	t.Parallel()
	var a action
	decodeYAML(t, "action.yml", &a)
	for name, c := range map[string]struct {
		// port is replaced by the free port of the server in with.
		with  map[string]string
		smoke string
		fork  bool
		code  int
		// says are parts of the output, reports the files with contents.
		says, reports []string
		// outputs is a part of the outputs of the step.
		outputs string
	}{
		"a good server": {
			with:    map[string]string{"server": "http://127.0.0.1:port/mcp", "start": "cd / && mcpc demo --listen 127.0.0.1:port"},
			says:    []string{"::group::saved calls", "2 steps: 2 passed", "::group::specification", "::group::changes"},
			reports: []string{"report.xml", "check.xml", "check.sarif", "diff.md"},
		},
		"a stdio server": {
			with:    map[string]string{"server": "mcpc demo --stdio"},
			says:    []string{"2 steps: 2 passed"},
			reports: []string{"report.xml", "check.xml", "check.sarif", "diff.md"},
			outputs: "reports=mcpc-reports\nsarif=mcpc-reports/check.sarif\n",
		},
		"a server in a folder of the workspace": {
			with:    map[string]string{"server": "mcpc demo --stdio", "working-directory": "packages/server"},
			reports: []string{"check.sarif"},
			outputs: "reports=packages/server/mcpc-reports\nsarif=packages/server/mcpc-reports/check.sarif\n",
		},
		"a saved call that fails": {
			with:    map[string]string{"server": "mcpc demo --stdio"},
			smoke:   "server: demo\nsteps:\n  - call: get-sum\n    args: {a: 1, b: 2}\n    expect: {text: '4'}\n",
			code:    1,
			says:    []string{"::error title=mcpc::saved calls: there are findings", "::group::specification"},
			reports: []string{"report.xml", "check.xml", "check.sarif"},
		},
		"a server that changed": {
			with:    map[string]string{"server": "mcpc demo --stdio", "check": "false", "lock": "before.json"},
			code:    1,
			says:    []string{"::error title=mcpc::changes: there are findings", "get-total"},
			reports: []string{"report.xml", "diff.md"},
		},
		"a dead server": {
			with: map[string]string{"server": "http://127.0.0.1:port/mcp", "start": "echo no module >&2; false", "wait": "1s"},
			code: 7,
			says: []string{"::error title=mcpc::wait for the server: the server does not answer", "Change the line start: or server:", "no module"},
		},
		"a dead stdio server": {
			with: map[string]string{"server": "false"},
			code: 7,
			says: []string{"the server does not answer", "Change the line server:"},
		},
		"a server with a login": {
			with: map[string]string{"server": "http://127.0.0.1:port/mcp", "start": "mcpc demo --listen 127.0.0.1:port --auth"},
			code: 4,
			says: []string{`token: ${{ secrets.MCP_TOKEN }}`},
		},
		"a server with a login, from a fork": {
			with: map[string]string{"server": "http://127.0.0.1:port/mcp", "start": "mcpc demo --listen 127.0.0.1:port --auth"},
			fork: true,
			code: 4,
			says: []string{"if: github.event.pull_request.head.repo.fork != true"},
		},
		"a wrong token": {
			with: map[string]string{"server": "http://127.0.0.1:port/mcp", "start": "mcpc demo --listen 127.0.0.1:port --auth", "token": "no"},
			code: 4,
			says: []string{"does not accept the token of the line token:"},
		},
		"no server": {code: 2, says: []string{"Add the line to the step: server:"}},
		"no mcpc": {
			with: map[string]string{"server": "mcpc demo --stdio", "mcpc": "/nothing"},
			code: 2,
			says: []string{"Change the line mcpc:"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := program.FreePort(t)
			for name, value := range c.with {
				c.with[name] = strings.ReplaceAll(value, "port", port)
			}
			dir := ciDir(t, port)
			if c.smoke != "" {
				if err := os.WriteFile(filepath.Join(dir, "smoke.mcpc.yaml"), []byte(c.smoke), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			line, env := a.environment(t, c.with)
			outputs := filepath.Join(dir, "outputs")
			env = append(env, "GITHUB_ACTIONS=true", "CI=true", "GITHUB_ACTION_PATH="+module.Path(t, "."), "GITHUB_OUTPUT="+outputs)
			if c.fork {
				env = append(env, "FROM_FORK=true")
			}
			code, out := runInDir(t, dir, env, line)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			for _, part := range c.says {
				if !strings.Contains(out, part) {
					t.Errorf("the output lacks %q", part)
				}
			}
			for _, name := range c.reports {
				if program.Read(t, filepath.Join(dir, "mcpc-reports", name)) == "" {
					t.Errorf("%s is empty", name)
				}
			}
			hasSARIF := slices.Contains(c.reports, "check.sarif")
			given, _ := os.ReadFile(outputs)
			if strings.Contains(string(given), "upload=true") != hasSARIF {
				t.Errorf("the outputs are\n%s", given)
			}
			if !strings.Contains(string(given), c.outputs) {
				t.Errorf("the outputs lack %q:\n%s", c.outputs, given)
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

// The workflow of docs/ci uses inputs that the action has, and keeps the folder that it fills.
func TestWorkflowUsesTheAction(t *testing.T) {
	t.Parallel()
	var a action
	decodeYAML(t, "action.yml", &a)
	var workflow struct {
		Jobs struct {
			MCP struct {
				Steps []struct {
					Uses string
					With map[string]string
				}
			}
		}
	}
	decodeYAML(t, "docs/ci/github-actions.yml", &workflow)
	port := program.FreePort(t)
	dir := ciDir(t, port)
	tested := false
	for _, step := range workflow.Jobs.MCP.Steps {
		switch {
		case strings.HasPrefix(step.Uses, "OWNER/mcpc@"):
			for name, value := range step.With {
				step.With[name] = strings.ReplaceAll(value, "3001", port)
			}
			line, env := a.environment(t, step.With)
			code, out := runInDir(t, dir, append(env, "GITHUB_ACTION_PATH="+module.Path(t, ".")), line)
			if code != 0 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			tested = true
		case strings.HasPrefix(step.Uses, "actions/upload-artifact@"):
			if kept := step.With["path"]; kept != a.Inputs["reports"].Default {
				t.Errorf("the workflow keeps %s", kept)
			}
		}
	}
	if !tested {
		t.Error("the workflow does not use the action")
	}
}

func TestGitLabFileRuns(t *testing.T) {
	t.Parallel()
	var pipeline struct {
		MCP struct {
			Variables map[string]string
			Script    []string
			Artifacts struct {
				Paths   []string
				Reports struct{ JUnit []string }
			}
		}
	}
	decodeYAML(t, "docs/ci/gitlab-ci.yml", &pipeline)
	job := pipeline.MCP
	port := program.FreePort(t)
	dir := ciDir(t, port)
	var env []string
	for name, value := range job.Variables {
		env = append(env, name+"="+strings.ReplaceAll(value, "3001", port))
	}
	line := strings.ReplaceAll(strings.Join(job.Script, "\n"), "/tmp/mcpc/", module.Path(t, ".")+"/")
	if code, out := runInDir(t, dir, env, line); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	for _, name := range append(job.Artifacts.Paths, job.Artifacts.Reports.JUnit...) {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("nothing makes the artifact: %v", err)
		}
	}
}

// A hook is what the test needs of a hook of .pre-commit-hooks.yaml or of its use.
type hook struct {
	ID, Entry, Files string
	Args             []string
	PassFilenames    *bool `json:"pass_filenames"`
}

// line returns the command that pre-commit runs for the files: it appends their names to args.
func (h *hook) line(args, files string) string {
	line := h.Entry + " " + args
	if h.PassFilenames == nil || *h.PassFilenames {
		line += " " + files
	}
	return line
}

func TestPreCommitHooksRun(t *testing.T) {
	t.Parallel()
	var hooks []hook
	decodeYAML(t, ".pre-commit-hooks.yaml", &hooks)
	dir := ciDir(t, "1")
	const saved = "server: demo\nsteps:\n  - call: get-sum\n    args: {a: 1, b: 2}\n    expect: {text: '%'}\n"
	for name, sum := range map[string]string{"smoke.mcpc.yaml": "3", "failing.mcpc.yaml": "4"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(saved, "%", sum)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if len(hooks) != 3 {
		t.Fatalf("%d hooks", len(hooks))
	}
	// The changed server also breaks the specification: a skill's text is not of the listed size.
	const changed = `-- sh -c "mcpc demo --stdio | sed -u s/get-sum/get-total/g"`
	for _, h := range hooks {
		good, failing, dead := h.line("-- mcpc demo --stdio", ""), h.line(changed, ""), h.line("-- false", "")
		if h.PassFilenames == nil {
			if !regexp.MustCompile(h.Files).MatchString("smoke.mcpc.yaml") {
				t.Errorf("%s: smoke.mcpc.yaml is not one of its files", h.ID)
			}
			good = h.line("", "smoke.mcpc.yaml")
			failing = h.line("", "smoke.mcpc.yaml failing.mcpc.yaml")
			dead = h.line("-s http://127.0.0.1:1/mcp", "smoke.mcpc.yaml")
		}
		for line, want := range map[string]int{good: 0, failing: 1, dead: 7} {
			if code, out := runInDir(t, dir, nil, line); code != want {
				t.Errorf("%s: exit code %d, want %d\n%s", line, code, want, out)
			}
		}
	}
}

// The configuration in the comment of .pre-commit-hooks.yaml works for a good server.
func TestPreCommitHooksExampleRuns(t *testing.T) {
	t.Parallel()
	var hooks []hook
	decodeYAML(t, ".pre-commit-hooks.yaml", &hooks)
	text := program.Read(t, module.Path(t, ".pre-commit-hooks.yaml"))
	example := regexp.MustCompile(`(?m)^#   .*\n`).FindAllString(text, -1)
	doc, err := yaml.Parse([]byte(strings.ReplaceAll(strings.Join(example, ""), "#   ", "")))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Repos []struct{ Hooks []json.RawMessage }
	}
	if err := json.Unmarshal(doc.JSON, &config); err != nil {
		t.Fatal(err)
	}
	if len(config.Repos) != 1 || len(config.Repos[0].Hooks) != len(hooks) {
		t.Fatalf("the example does not use each hook once:\n%s", doc.JSON)
	}
	dir := ciDir(t, "1")
	for i, h := range hooks {
		id := h.ID
		if err := json.Unmarshal(config.Repos[0].Hooks[i], &h); err != nil {
			t.Fatal(err)
		}
		args := strings.ReplaceAll(strings.Join(h.Args, " "), "node dist/server.js", "mcpc demo --stdio")
		if code, out := runInDir(t, dir, nil, h.line(args, "smoke.mcpc.yaml")); code != 0 || h.ID != id {
			t.Errorf("%s, %s: exit code %d\n%s", id, h.line(args, "smoke.mcpc.yaml"), code, out)
		}
	}
}

// Every command of the skill works unchanged, in their order.
func TestSkillCommandsRun(t *testing.T) {
	t.Parallel()
	skill := program.Read(t, module.Path(t, "skills/mcpc/SKILL.md"))
	dir := t.TempDir()
	smoke := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(skill)
	if err := os.WriteFile(filepath.Join(dir, "smoke.mcpc.yaml"), []byte(smoke[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := []string{"mcpc run smoke.mcpc.yaml", "mcpc explain -32602", "mcpc help scripting", "mcpc --version"}
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(skill, -1) {
		for line := range strings.Lines(block[1]) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if len(lines) < 15 {
		t.Fatalf("only %d commands were found", len(lines))
	}
	for _, line := range lines {
		if code, out := runInDir(t, dir, nil, line); code != 0 {
			t.Errorf("%s\nexit code %d\n%s", line, code, out)
		}
	}
}
