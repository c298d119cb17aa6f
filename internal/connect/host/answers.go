package host

import (
	"cmp"
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

// SettleAnswers checks the flags of this run, makes their paths absolute, and fills in
// what the session remembers where this run says nothing.
func SettleAnswers(now Answers, before *Answers) (Answers, error) {
	if err := contradiction(now); err != nil {
		return now, err
	}
	for _, text := range now.Extensions {
		if err := checkExtension(text); err != nil {
			return now, err
		}
	}
	if err := absolute(&now); err != nil {
		return now, err
	}
	return now.Over(before), nil
}

// Extension splits the value of --extension: an id, and settings as JSON, which are {} where there
// are none.
func Extension(text string) (id string, settings json.RawMessage) {
	id, given, ok := strings.Cut(text, "=")
	if !ok {
		return id, json.RawMessage("{}")
	}
	return id, json.RawMessage(given)
}

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

func contradiction(f Answers) error {
	ways := 0
	for _, set := range []bool{f.Scripted(), f.Decline, f.OnElicit != ""} {
		if set {
			ways++
		}
	}
	if ways > 1 {
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

// absolute makes what names a file good in every directory.
func absolute(f *Answers) error {
	var failed error
	path := func(name string) string {
		full, err := filepath.Abs(name)
		failed = cmp.Or(failed, err)
		return full
	}
	f.Answers = sliceutil.Map(f.Answers, func(text string) string {
		if name, ok := strings.CutPrefix(text, "@"); ok && name != "-" {
			return "@" + path(name)
		}
		return text
	})
	if f.Sampling != "" && f.Sampling != "-" {
		f.Sampling = path(f.Sampling)
	}
	f.Roots = sliceutil.Map(f.Roots, path)
	for _, dir := range f.Roots {
		if info, err := os.Stat(dir); failed == nil && (err != nil || !info.IsDir()) {
			return usage.New(fmt.Sprintf("--root: there is no directory %s", dir), "")
		}
	}
	return failed
}
