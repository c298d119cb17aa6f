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
	"syscall"
	"testing"

	"mcpc/internal/tests/module"
	"mcpc/internal/tests/program"
	"mcpc/internal/yaml"
)

// The CI files of docs/ci run here against the demo server, with the steps of README.md's
// smoke.mcpc.yaml and a committed lock file. Only the steps that need the network are left out, each by its name.
func TestCIFiles(t *testing.T) {
	t.Parallel()
	readme := program.Read(t, module.Path(t, "README.md"))
	smoke := regexp.MustCompile("(?s)```yaml\n(# smoke.mcpc.yaml\n.*?)```").FindStringSubmatch(readme)
	if smoke == nil {
		t.Fatal("README.md has no smoke.mcpc.yaml")
	}
	for file, c := range map[string]struct {
		steps   func(t *testing.T, raw []byte) (skipped, run, kept []string)
		skipped []string
	}{
		"github-actions.yml": {githubSteps, []string{
			"actions/checkout@v4", "actions/setup-go@v5", "Install mcpc",
			"github/codeql-action/upload-sarif@v4", "actions/upload-artifact@v4",
		}},
		"gitlab-ci.yml": {gitlabSteps, []string{
			`git clone --depth 1 --branch "$MCPC_VERSION" "$MCPC_REPOSITORY" /tmp/mcpc`,
			"(cd /tmp/mcpc; go install ./cmd/mcpc)",
		}},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			doc, err := yaml.Parse([]byte(program.Read(t, module.Path(t, "docs/ci/"+file))))
			if err != nil {
				t.Fatal(err)
			}
			skipped, run, kept := c.steps(t, doc.JSON)
			if !slices.Equal(skipped, c.skipped) || len(run) == 0 {
				t.Fatalf("left out %q, want %q; %d are run", skipped, c.skipped, len(run))
			}
			port, dir := program.FreePort(t), t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "smoke.mcpc.yaml"), []byte(strings.ReplaceAll(smoke[1], "3001", port)), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, script := range append([]string{"mcpc diff --lock demo"}, run...) {
				cmd := exec.Command("bash", "-e", "-c", strings.ReplaceAll(script, "3001", port))
				cmd.Dir, cmd.Env = dir, append(program.CleanEnv(), "CI=true", "HOME="+dir, "MCPC_STATE="+filepath.Join(dir, "state"))
				cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
				out, err := cmd.CombinedOutput()
				t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }) // the server
				if err != nil {
					t.Fatalf("%s\n%v\n%s", script, err, out)
				}
			}
			if report := program.Read(t, filepath.Join(dir, "report.xml")); strings.Count(report, "<testcase") != 2 || strings.Contains(report, "<failure") {
				t.Errorf("report.xml:\n%s", report)
			}
			for _, name := range kept {
				if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
					t.Errorf("nothing makes the artifact: %v", err)
				}
			}
		})
	}
}

// githubSteps are those of the only job: the ones that are left out, the scripts of the
// others, and the files that are kept.
func githubSteps(t *testing.T, raw []byte) (skipped, run, kept []string) {
	t.Helper()
	var workflow struct {
		Jobs struct {
			Smoke struct {
				Steps []struct {
					Name, Uses, Run string
					With            struct {
						Path  string
						SARIF string `json:"sarif_file"`
					}
				}
			}
		}
	}
	if err := json.Unmarshal(raw, &workflow); err != nil {
		t.Fatal(err)
	}
	for _, s := range workflow.Jobs.Smoke.Steps {
		switch {
		case s.Uses != "":
			skipped = append(skipped, s.Uses)
			kept = append(kept, strings.Fields(s.With.Path+" "+s.With.SARIF)...)
		case s.Name == "Install mcpc":
			skipped = append(skipped, s.Name)
		default:
			run = append(run, s.Run)
		}
	}
	return skipped, run, kept
}

// gitlabSteps is githubSteps for GitLab: before_script installs mcpc, and the lines of
// script are one script.
func gitlabSteps(t *testing.T, raw []byte) (skipped, run, kept []string) {
	t.Helper()
	var pipeline struct {
		MCP struct {
			Before    []string `json:"before_script"`
			Script    []string
			Artifacts struct {
				Paths   []string
				Reports struct{ JUnit []string }
			}
		}
	}
	if err := json.Unmarshal(raw, &pipeline); err != nil {
		t.Fatal(err)
	}
	job := pipeline.MCP
	return job.Before, []string{strings.Join(job.Script, "\n")}, append(job.Artifacts.Paths, job.Artifacts.Reports.JUnit...)
}
