package telemetry

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"mcpc/internal/otlp"
)

var update = flag.Bool("update", false, "write the trees in testdata anew")

// Each file of testdata/trees has a transcript, and the spans of a command and of a proxy.
func TestSpanTreesOfTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/trees/*.txt")
	if err != nil || len(files) < 15 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			script := string(a.Files[0].Data)
			command, between := treeOptions(string(a.Comment)), treeOptions(string(a.Comment))
			between.IsRelay = true
			got := []txtar.File{a.Files[0], {Name: "command", Data: []byte(tree(run(t, command, script)))}, {Name: "between", Data: []byte(tree(run(t, between, script)))}}
			if *update {
				a.Files = got
				if err := os.WriteFile(file, txtar.Format(a), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(a.Files, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// treeOptions returns the options that the comment of a file asks for.
func treeOptions(comment string) Options {
	o := Options{ContextIsOwnSpan: true, Content: strings.Contains(comment, "with content"), URINames: strings.Contains(comment, "with URIs")}
	if strings.Contains(comment, "with a parent") {
		o.Parent = Context{Trace: otlp.TraceID{15: 1}, Span: otlp.SpanID{7: 2}, Sampled: true}
	}
	return o
}
