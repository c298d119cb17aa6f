package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A target is a platform by Go's names.
type target struct{ os, arch string }

var allTargets = []target{
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{"freebsd", "amd64"},
	{"freebsd", "arm64"},
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"windows", "amd64"},
	{"windows", "arm64"},
}

func (t target) String() string { return t.os + "/" + t.arch }

// programName returns the file name of the program on the target.
func (t target) programName() string {
	if t.os == "windows" {
		return "mcpc.exe"
	}
	return "mcpc"
}

// selectTargets returns the targets that --only names, or all targets if only is "".
func selectTargets(only string) ([]target, error) {
	if only == "" {
		return allTargets, nil
	}
	var some []target
	for word := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(allTargets, func(t target) bool { return t.String() == word })
		if i < 0 {
			return nil, fmt.Errorf("--only: no such platform: %s; there are %v", word, allTargets)
		}
		some = append(some, allTargets[i])
	}
	return some, nil
}

// binary returns the path of the program for a target.
func (r *release) binary(t target) string {
	return filepath.Join(r.out, "build", t.os+"_"+t.arch, t.programName())
}

// inlined determines for which packages the compiler inlines small functions. The last matching
// pattern counts. The program has 29.9 MB if all packages are inlined, and 27.2 MB with this list.
// The listed packages process single bytes and messages, and keep their speed. Code that runs once
// per command or connection does not need it.
var inlined = []struct {
	packages string
	hot      bool
}{
	{"all", false},
	{"runtime/... internal/... sync/... math math/bits sort cmp slices maps bytes strings strconv unicode/...", true},
	{"bufio io time hash/... compress/... encoding/base64 encoding/binary", true},
	{"crypto/internal/... crypto/cipher crypto/aes crypto/sha256 net/http", true},
	{
		"github.com/go-json-experiment/... github.com/santhosh-tekuri/jsonschema/... github.com/klauspost/compress/...",
		true,
	},
	{
		"mcpc/internal/jsonraw mcpc/internal/wire mcpc/internal/sse mcpc/internal/redact mcpc/internal/sanitize mcpc/internal/mcp",
		true,
	},
	{
		"mcpc/internal/capture mcpc/internal/capture/rows mcpc/internal/compress/packed mcpc/internal/capture/filter mcpc/internal/proxy mcpc/internal/live",
		true,
	},
	{"mcpc/internal/client/transport mcpc/internal/validate", true},
}

// compilerFlags returns the compiler flags for inlined.
func compilerFlags() (flags []string) {
	for _, group := range inlined {
		for _, pattern := range strings.Fields(group.packages) {
			flag := "-gcflags=" + pattern + "="
			if !group.hot {
				flag += "-l"
			}
			flags = append(flags, flag)
		}
	}
	return flags
}

// maxProgramSize is the maximum size of the program in bytes.
const maxProgramSize = 30_000_000

// build compiles the program for every target, without libc and without paths of this machine.
// Functions are aligned to 16 bytes: the default of 32 on amd64 adds 0.2 MB of padding.
func (r *release) build() error {
	facts := fmt.Sprintf(
		"-s -w -buildid= -funcalign=16 -X main.version=%s -X main.commit=%s -X main.date=%s",
		r.version,
		r.commit,
		r.time.Format("2006-01-02T15:04:05Z"),
	)
	for _, t := range r.targets {
		args := slices.Concat(
			[]string{"build", "-trimpath", "-buildvcs=false", "-ldflags", facts, "-o", r.binary(t)},
			compilerFlags(),
			[]string{"./cmd/mcpc"},
		)
		cmd := r.command("go", args...)
		cmd.Env = append(cmd.Env, "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch)
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("building for %s: %w", t, err)
		}
		if err := checkSize(t, r.binary(t)); err != nil {
			return err
		}
	}
	return nil
}

// checkSize returns an error if the program for linux/amd64 is too large.
func checkSize(t target, path string) error {
	info, err := os.Stat(path)
	if err == nil && t.String() == "linux/amd64" && info.Size() > maxProgramSize {
		return fmt.Errorf(
			"mcpc for %s has %d bytes, %d more than it may: see go tool nm -size -sort size, and inlined in scripts/release/build.go",
			t,
			info.Size(),
			info.Size()-maxProgramSize,
		)
	}
	return err
}

// command returns a command that runs in the repository. It overrides the settings of the machine
// that would change the build.
func (r *release) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	return cmd
}

// writeExtras writes the completions and the manual pages. It runs a program for this machine.
func (r *release) writeExtras() error {
	r.extra = filepath.Join(r.out, "build", "extra")
	program, err := r.hostProgram()
	if err != nil {
		return err
	}
	for shell, name := range map[string]string{"bash": "mcpc.bash", "zsh": "_mcpc", "fish": "mcpc.fish", "powershell": "mcpc.ps1"} {
		script, err := r.command(program, "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("the completion of %s: %w", shell, err)
		}
		if err := r.write("build/extra/completions/"+name, script); err != nil {
			return err
		}
	}
	if err := r.command(program, "man", filepath.Join(r.extra, "man")).Run(); err != nil {
		return fmt.Errorf("the manual pages: %w", err)
	}
	return nil
}

// hostProgram returns the path of the program for this machine. It builds it if this machine is not a
// target.
func (r *release) hostProgram() (string, error) {
	here := target{runtime.GOOS, runtime.GOARCH}
	if slices.Contains(r.targets, here) {
		return r.binary(here), nil
	}
	path := filepath.Join(r.out, "build", "own", here.programName())
	if err := r.command("go", "build", "-trimpath", "-buildvcs=false", "-o", path, "./cmd/mcpc").Run(); err != nil {
		return "", fmt.Errorf("building for this machine: %w", err)
	}
	return path, nil
}

// makeAgainAndCompare makes the release a second time, from a copy of the sources in a different folder and time
// zone. It returns an error if a hash differs.
func (r *release) makeAgainAndCompare() error {
	dir, err := os.MkdirTemp("", "mcpc-release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	second := *r
	second.root, second.out = filepath.Join(dir, "elsewhere"), filepath.Join(dir, "dist")
	for _, name := range append([]string{"cmd", "internal", "go.mod", "go.sum", "flake.nix"}, documents...) {
		if err := copyTo(filepath.Join(second.root, name), filepath.Join(r.root, name)); err != nil {
			return err
		}
	}
	os.Setenv("TZ", "Pacific/Kiritimati")
	if err := second.makeAll(); err != nil {
		return fmt.Errorf("the second time: %w", err)
	}
	var differ []string
	for _, name := range sortedKeys(r.sums) {
		if second.sums[name] != r.sums[name] {
			differ = append(differ, name)
		}
	}
	if len(differ) > 0 || len(second.sums) != len(r.sums) {
		return fmt.Errorf("not reproducible: %d files then %d, other bytes in %v", len(r.sums), len(second.sums), differ)
	}
	fmt.Printf("release: the same %d hashes when built again elsewhere\n", len(r.sums))
	return nil
}

// copyTo copies a file or a folder.
func copyTo(dst, src string) error {
	info, err := os.Stat(src)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(dst, os.DirFS(src))
	}
	raw, err := os.ReadFile(src)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return err
	}
	return os.WriteFile(dst, raw, 0o644)
}
