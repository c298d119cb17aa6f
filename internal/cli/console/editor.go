package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"mcpc/internal/client/process"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// errEmptied is the error if the user empties the file to send nothing.
var errEmptied = errors.New("the params are empty; nothing was sent")

// EditRequest opens params in the user's editor and returns the edited params. Unchanged params
// keep their bytes. It fails if the user empties the file. Text that is not JSON is an error and stays
// in its file, which the hint names; otherwise the file is deleted.
func (c *Console) EditRequest(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	editor := c.editorWords()
	if len(editor) == 0 {
		return nil, usage.New("--edit needs an editor", "set EDITOR, as in EDITOR=vi")
	}
	var before bytes.Buffer // indented, as at a terminal
	if err := render.JSON(&before, term.Style{Terminal: true, Width: 80}, jsonraw.OrEmpty(params)); err != nil {
		return nil, err
	}
	name, err := writeDraft(before.Bytes())
	if err != nil {
		return nil, err
	}
	after, err := c.runEdit(ctx, editor, name)
	if err != nil {
		return after, errors.Join(err, os.Remove(name))
	}
	if bytes.Equal(after, before.Bytes()) {
		return params, os.Remove(name)
	}
	if len(bytes.TrimSpace(after)) == 0 {
		return after, errors.Join(errEmptied, os.Remove(name))
	}
	if bad := jsonraw.Valid(after); bad != nil {
		return nil, &usage.JSONError{
			Text:  "the edited params are not JSON: " + bad.Error(),
			Hint:  "they are saved: " + wire.Run("raw "+shellwords.Quote(method)+" @"+shellwords.Quote(name)),
			Facts: wire.InputFacts{Raw: after, Offset: bad.Offset},
		}
	}
	return after, os.Remove(name)
}

// writeDraft writes text to a temporary file that only its owner can read, and returns its name.
func writeDraft(text []byte) (name string, err error) {
	f, err := os.CreateTemp("", "mcpc-*.json")
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	return f.Name(), errors.Join(err, f.Close())
}

// runEdit runs the editor without a shell, and returns the content of the edited file, of at most the
// size of a message.
func (c *Console) runEdit(ctx context.Context, editor []string, name string) ([]byte, error) {
	process.KeepOrphans() // orphans may be of the editor from now on
	cmd := exec.CommandContext(ctx, editor[0], append(editor[1:len(editor):len(editor)], name)...)
	cmd.Stdin = c.In
	cmd.Stdout = c.Err // standard output may be a pipe, which must get only the answer
	cmd.Stderr = c.Err
	if c.OutStyle.Terminal {
		cmd.Stdout = c.Out
	}
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("the editor %s: %w", editor[0], err)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	limit := c.env.Limits.WithDefaults().Message
	raw, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(raw)) > limit {
		err = fmt.Errorf("the edited params have more than %s", term.Bytes(limit))
	}
	return raw, err
}

// NotEdited returns the outcome of an edit that failed with err: Refused if the user emptied the file
// to send nothing, a usage error for text that is not JSON or a missing editor, else a local failure.
func NotEdited(err error) wire.Outcome {
	_, isUsage := errors.AsType[usage.Error](err)
	_, notJSON := errors.AsType[*usage.JSONError](err)
	if notJSON || isUsage {
		return usage.Outcome(err)
	}
	if errors.Is(err, errEmptied) {
		return wire.Outcome{Kind: wire.Refused, Phase: "arguments", Text: errEmptied.Error()}
	}
	return usage.LocalIO("editing", err)
}

// EditText opens text in the user's editor, and returns the saved text. The caller must have checked
// HasEditor.
func (c *Console) EditText(ctx context.Context, text string) (string, error) {
	name, err := writeDraft([]byte(text))
	if err != nil {
		return "", err
	}
	after, err := c.runEdit(ctx, c.editorWords(), name)
	return string(after), errors.Join(err, os.Remove(name))
}

// HasEditor reports whether $VISUAL or $EDITOR is set.
func (c *Console) HasEditor() bool { return len(c.editorWords()) > 0 }

// editorWords returns the program and arguments of the editor, split as a shell splits them; nil without an
// editor.
func (c *Console) editorWords() []string {
	line := c.env.Getenv("VISUAL")
	if line == "" {
		line = c.env.Getenv("EDITOR")
	}
	words, err := shellwords.Split(line, c.env.Getenv)
	if err != nil || runtime.GOOS == "windows" { // there a backslash is in paths, and quotes nothing
		return strings.Fields(line)
	}
	return words
}
