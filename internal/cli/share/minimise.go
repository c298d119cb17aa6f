package share

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"mcpc/internal/capture"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/english"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// mostTries bounds how often the command of --minimise runs.
const mostTries = 300

// A minimiser looks for fewer exchanges with which a command still exits with 0.
type minimiser struct {
	f       *cmdutil.Factory
	c       *capture.Capture
	command string
	file    string
	tries   int
}

// errEnough ends a search after mostTries.
var errEnough = errors.New("too many tries")

// Minimise drops exchanges while a command of the user exits with 0: delta debugging as
// Zeller and Hildebrandt describe it.
func Minimise(ctx context.Context, f *cmdutil.Factory, c *capture.Capture, rows []*capture.Row, command string) ([]*capture.Row, error) {
	dir, err := os.MkdirTemp("", "mcpc-minimise-*")
	if err != nil {
		return nil, cmdutil.Exit(usage.LocalIO("--minimise", usage.Bare(err)))
	}
	defer os.RemoveAll(dir)
	m := &minimiser{f: f, c: c, file: filepath.Join(dir, "candidate.jsonl")}
	m.command = strings.ReplaceAll(command, "{}", shellwords.Quote(m.file))
	left := []*capture.Row{}
	for _, row := range rows {
		if !slices.Contains(recorded.OpeningMethods, row.Method) {
			left = append(left, row)
		}
	}
	if len(left) == 0 {
		left = rows
	}
	before := len(left)
	switch holds, err := m.holds(ctx, left); {
	case err != nil:
		return nil, m.ending(ctx, err)
	case !holds:
		return nil, usage.New("--minimise: the command does not exit with 0 with all exchanges", "it gets the name of a capture as {} and as $CAPTURE")
	}
	switch holds, err := m.holds(ctx, nil); {
	case err != nil:
		return nil, m.ending(ctx, err)
	case holds:
		f.Warn("--minimise: the command also succeeds without any exchange, so it does not test what is recorded; " +
			"for a replay with differences, which exits with 1: 'mcpc replay {} --to URL; [ $? = 1 ]'")
	}
	left, err = m.reduce(ctx, left)
	if err != nil && !errors.Is(err, errEnough) {
		return nil, m.ending(ctx, err)
	}
	text := fmt.Sprintf("%d of %s left after %s of the command", len(left), english.Plural(before, "exchange"), english.Plural(m.tries, "run"))
	if err != nil {
		text += "; fewer may be enough"
	}
	f.Note(text)
	return WithContext(m.c, left, false), nil
}

// reduce drops as many rows as it can, but for one: in halves, in quarters, and at last one by one.
func (m *minimiser) reduce(ctx context.Context, left []*capture.Row) ([]*capture.Row, error) {
	for parts := 2; len(left) > 1; {
		size := (len(left) + parts - 1) / parts
		dropped := false
		for from := 0; from < len(left); {
			without := slices.Concat(left[:from], left[min(len(left), from+size):])
			if len(without) == 0 {
				break
			}
			holds, err := m.holds(ctx, without)
			if err != nil {
				return left, err
			}
			if holds {
				left, dropped = without, true
			} else {
				from += size
			}
		}
		switch {
		case dropped:
			parts = max(2, parts-1)
		case size == 1:
			return left, nil
		default:
			parts = min(len(left), 2*parts)
		}
	}
	return left, nil
}

// holds runs the command with a capture of some rows.
func (m *minimiser) holds(ctx context.Context, rows []*capture.Row) (bool, error) {
	if m.tries++; m.tries > mostTries {
		m.tries--
		return false, errEnough
	}
	file, err := os.OpenFile(m.file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return false, err
	}
	if err := errors.Join(m.c.Copy(file, WithContext(m.c, rows, false)), file.Close()); err != nil {
		return false, err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", m.command)
	if m.f.Environ != nil {
		cmd.Env = append(m.f.Environ(), "CAPTURE="+m.file)
	}
	err = cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); exited && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

func (m *minimiser) ending(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return cmdutil.Exit(wire.Outcome{Kind: wire.Signal, Text: "interrupted"})
	}
	return cmdutil.Exit(usage.LocalIO("--minimise", usage.Bare(err)))
}
