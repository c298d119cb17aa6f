package host

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mcpc/internal/sliceutil"
	"mcpc/internal/usage"
)

// SettleAnswers checks the flags of this run, makes their paths absolute, and fills in
// what the session remembers where this run says nothing.
func SettleAnswers(now Answers, before *Answers) (Answers, error) {
	if err := contradiction(now); err != nil {
		return now, err
	}
	if err := absolute(&now); err != nil {
		return now, err
	}
	return now.Over(before), nil
}

func contradiction(f Answers) error {
	ways := 0
	for _, set := range []bool{f.Scripted(), f.Decline, f.OnElicit != ""} {
		if set {
			ways++
		}
	}
	switch {
	case ways > 1:
		return usage.New("a form has one answer: --answer and --answer-defaults, --decline, or --on-elicit", "use only one of them")
	case f.Sampling != "" && f.OnSampling != "":
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
