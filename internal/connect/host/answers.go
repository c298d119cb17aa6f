package host

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/sliceutil"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// SettleAnswers checks the flags of this run, makes their paths absolute, and adds what the session
// remembers for flags that are not set. saved may be nil. Its errors are about the flags.
func SettleAnswers(flags Answers, saved *Answers) (Answers, error) {
	if err := checkConflicts(flags); err != nil {
		return flags, err
	}
	for _, text := range flags.Extensions {
		if err := checkExtension(text); err != nil {
			return flags, err
		}
	}
	if err := makeAbsolute(&flags); err != nil {
		return flags, err
	}
	return flags.Over(saved), nil
}

// Extension splits the value of --extension into an id and its settings as JSON. The settings are
// {} if the value has no settings.
func Extension(text string) (id string, settings json.RawMessage) {
	id, given, ok := strings.Cut(text, "=")
	if !ok {
		return id, json.RawMessage("{}")
	}
	return id, json.RawMessage(given)
}

// checkExtension returns an error for a value of --extension that is not ID or ID=JSON.
func checkExtension(text string) error {
	id, settings := Extension(text)
	if id == mcp.TasksExtension {
		return usage.New("--extension "+id+": mcpc declares it with --task", "mcpc call TOOL --task")
	}
	if !strings.Contains(id, "/") {
		return usage.New(
			fmt.Sprintf("--extension: %q is not the id of an extension", id),
			"--extension io.modelcontextprotocol/skills, or ID=JSON with its settings",
		)
	}
	if jsonraw.Valid(settings) != nil {
		return usage.New("--extension "+id+": the settings are not JSON", wire.Hint("--extension "+id+"='{}'"))
	}
	return nil
}

// checkConflicts returns an error for flags that exclude each other.
func checkConflicts(f Answers) error {
	formAnswers := 0
	for _, isSet := range []bool{f.Scripted(), f.Decline, f.OnElicit != ""} {
		if isSet {
			formAnswers++
		}
	}
	if formAnswers > 1 {
		return usage.New(
			"a form has one answer: --answer and --answer-defaults, --decline, or --on-elicit",
			"use only one of them",
		)
	}
	if f.Sampling != "" && f.OnSampling != "" {
		return usage.New("use --sampling or --on-sampling, not both", "use only one of them")
	}
	return nil
}

// makeAbsolute makes the paths in f absolute, so that a session can use them in every folder.
// Returns an error if a root is not a directory. "-", which is standard input, is no path.
func makeAbsolute(f *Answers) error {
	var failed error // of the first path that cannot be made absolute
	absolute := func(name string) string {
		path, err := filepath.Abs(name)
		if failed == nil {
			failed = err
		}
		return path
	}
	f.Answers = sliceutil.Map(f.Answers, func(text string) string {
		if name, ok := strings.CutPrefix(text, "@"); ok && name != "-" {
			return "@" + absolute(name)
		}
		return text
	})
	if f.Sampling != "" && f.Sampling != "-" {
		f.Sampling = absolute(f.Sampling)
	}
	f.Roots = sliceutil.Map(f.Roots, absolute)
	if failed != nil {
		return failed
	}
	for _, dir := range f.Roots {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return usage.New(fmt.Sprintf("--root: there is no directory %s", dir), "")
		}
	}
	return nil
}
