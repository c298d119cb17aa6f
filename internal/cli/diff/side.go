package diff

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/connect/host"
	"mcpc/internal/diff"
	"mcpc/internal/diff/lockfile"
	"mcpc/internal/match/hidden"
	"mcpc/internal/redact"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A side is either description of a comparison.
type side struct {
	name string // for the report, as the user typed it
	file string // the path in the repository, or ""
	diff.Snapshot
	// isProbed is set if a client asked for stateless revisions, so that Revisions is complete.
	isProbed bool
	// isLive is set if the description comes directly from a server, with nothing hidden.
	isLive bool
	// partial are the names of the lists whose pages are partly missing from a recording.
	partial map[string]bool
	// calls are the calls of a recording.
	calls []recordedCall
	// listErr is the error of the first list of a server that failed, or nil. Such a list is nil.
	listErr error
	// raw is the content of the lock file to replace.
	raw []byte
}

// A sourceKind is what a word of the command line names.
type sourceKind int

// The kinds of sources.
const (
	serverSource sourceKind = iota
	recordingSource
	fileSource // a recording, a lock file or a list of tools
	gitSource
	stdinSource
)

// A source says where a side comes from.
type source struct {
	kind sourceKind
	// text is the word of the command line, or "" if the global flags select the server.
	text string
	// argv is the command of a server, nil if text or the flags name the server.
	argv []string
	// err is not nil if the word names nothing, or several things. kind then has no meaning.
	err error
}

// A loader loads the sides of one command.
type loader struct {
	f *cmdutil.Factory
}

// ringWord matches the words that name a run or an exchange of the ring, and fileExchange a file
// with the number of an exchange.
var (
	ringWord = sync.OnceValue(
		func() *regexp.Regexp { return regexp.MustCompile(`^(last|[0-9]{1,9}(\.[0-9]{1,9})?)$`) },
	)
	fileExchange = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.+)#[0-9]{1,9}(\.[0-9]{1,9})?$`) })
)

// gitPrefix begins an argument that names a file in a commit.
const gitPrefix = "git:"

// classify returns the source that an argument names. An argument that names both a file and a
// server is an error.
func (l *loader) classify(text string) source {
	src := source{text: text}
	path := text
	if parts := fileExchange().FindStringSubmatch(text); parts != nil {
		path = parts[1]
	}
	info, err := os.Stat(path)
	isFile := err == nil && !info.IsDir()
	switch {
	case text == "-":
		src.kind = stdinSource
	case strings.HasPrefix(text, gitPrefix):
		src.kind = gitSource
	case ringWord().MatchString(text):
		src.kind = recordingSource
	case cmdutil.IsURL(text):
		src.kind = serverSource
	case isFile && isName(l.f, text):
		src.err = usage.New(text+" is a file and the name of a server", wire.Hint("./"+text+" is the file; rename either"))
	case isFile:
		src.kind = fileSource
	case err == nil:
		src.err = usage.New(text+" is a directory",
			"name a file in it, such as "+wire.Hint(filepath.Join(text, lockfile.Name)))
	// A word that looks like a file does not name a server.
	case path != text || strings.HasSuffix(text, ".json") || capture.NamesRecording(text):
		src.err = usage.New(
			"no such file: "+path,
			wire.Run("diff --lock TARGET")+" writes a lock file; "+wire.Run("log")+" lists recordings",
		)
	default:
		src.kind = serverSource
	}
	return src
}

// isName reports whether text is the name of a session or of a configured server.
func isName(f *cmdutil.Factory, text string) bool {
	for _, name := range append(f.SessionNames(text), f.Env.ConfiguredNames()...) {
		if name == text {
			return true
		}
	}
	return false
}

// load loads one side.
func (l *loader) load(ctx context.Context, src source) (side, error) {
	if src.err != nil {
		return side{}, src.err
	}
	switch src.kind {
	case serverSource:
		return l.loadServer(ctx, src)
	case recordingSource:
		return l.loadRecording(src)
	case stdinSource:
		in := bufio.NewReader(l.f.In)
		l.f.In = in // it has what IsRecording reads ahead
		if recorded.IsRecording(in) {
			return l.loadRecording(src)
		}
	case fileSource:
		// A pipe, such as <(command), can be read only once: it is no recording.
		if info, err := os.Stat(src.text); err != nil || info.Mode().IsRegular() {
			return l.loadFile(ctx, src)
		}
	case gitSource: // never a recording
	}
	return l.loadBytes(ctx, src)
}

// loadFile loads a file, which says by its first line whether it is a recording.
func (l *loader) loadFile(ctx context.Context, src source) (side, error) {
	if cmdutil.IsFile(src.text) { // else it has the number of an exchange
		c, err := recorded.OpenFile(l.f, src.text)
		if errors.Is(err, rows.ErrNoCapture) {
			return l.loadBytes(ctx, src)
		}
		if err != nil {
			return side{}, cmdutil.Exit(recorded.Unreadable(src.text, err))
		}
		c.Close()
	}
	return l.loadRecording(src)
}

// loadBytes loads a lock file or a list of tools from a file, from stdin or from a commit. It returns
// a usage error if the content is neither.
func (l *loader) loadBytes(ctx context.Context, src source) (side, error) {
	var raw []byte
	var err error
	// A file has no more revisions than it lists: like a probed server, it lacks no revision.
	// isProbed: the revisions in a lock file are complete, and a list of tools has no revisions.
	s := side{name: src.text, file: src.text, isProbed: true}
	switch src.kind {
	case gitSource:
		s.file, raw, err = readGit(ctx, src.text)
		if err != nil {
			return side{}, err
		}
	case stdinSource:
		s.name = "stdin"
		s.file = ""
		raw, err = host.ReadUpTo(l.f.In, host.MostInput)
	default:
		raw, err = l.f.Env.ReadFile(src.text, host.MostInput)
	}
	if err != nil {
		return side{}, cmdutil.Exit(usage.LocalIO("reading "+s.name, usage.Bare(err)))
	}
	snapshot, err := lockfile.ParseAny(raw)
	if failed, ok := errors.AsType[*lockfile.Error](err); ok {
		text := s.name + ": " + failed.Text
		if failed.Reason == lockfile.NotJSON {
			text = s.name + " is neither a recording, a lock file nor a list of tools: " + failed.Text
		}
		return side{}, usage.New(text, wire.Hint(failed.Hint))
	}
	s.Snapshot = snapshot
	return s, nil
}

// maxLockFile bounds a file from a commit, in bytes.
const maxLockFile = 64 << 20

// readGit reads git:REV:PATH with the git command and returns PATH and the content. PATH is
// relative to the top of the repository, or to the current directory if it begins with ./
// (gitrevisions, "<rev>:<path>").
func readGit(ctx context.Context, text string) (path string, raw []byte, err error) {
	object := strings.TrimPrefix(text, gitPrefix)
	rev, path, ok := strings.Cut(object, ":")
	if !ok || rev == "" || path == "" || strings.HasPrefix(rev, "-") {
		return "", nil, usage.New(
			fmt.Sprintf("%q is not git:REV:PATH", text),
			"git:HEAD:"+lockfile.Name+" is the committed lock file",
		)
	}
	cmd := exec.CommandContext(ctx, "git", "cat-file", "blob", object)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return "", nil, usage.New("git is not installed, so "+text+" cannot be read", "pass a file")
	}
	if err != nil {
		return "", nil, err
	}
	raw, err = host.ReadUpTo(out, maxLockFile)
	if err != nil {
		_ = cmd.Process.Kill() // it may wait for the rest to be read
		_ = cmd.Wait()
		return "", nil, err
	}
	if err := cmd.Wait(); err != nil {
		reason, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return "", nil, usage.New(
			"git has no "+object+": "+strings.TrimPrefix(reason, "fatal: "),
			"git log -- "+wire.Hint(path)+" shows its commits",
		)
	}
	return path, raw, nil
}

// alignHidden hides on both sides the values that are hidden on one side, in a recording or a lock
// file: a value that is not known must not become a difference.
func alignHidden(a, b *side) {
	if a.isLive && b.isLive {
		return
	}
	for _, k := range lists {
		before := k.entries(&a.Snapshot)
		after := k.entries(&b.Snapshot)
		if *before != nil && *after != nil {
			*before, *after = hidden.Lists(*before, *after, k.Key)
		}
	}
	for _, member := range []func(*diff.Snapshot) *json.RawMessage{
		func(s *diff.Snapshot) *json.RawMessage { return &s.Implementation },
		func(s *diff.Snapshot) *json.RawMessage { return &s.Capabilities },
		func(s *diff.Snapshot) *json.RawMessage { return &s.Instructions },
	} {
		before := member(&a.Snapshot)
		after := member(&b.Snapshot)
		*before, *after = hidden.Align(*before, *after)
	}
}

// displayName returns the name of a server for the report.
func displayName(text string) string {
	if cmdutil.IsURL(text) {
		return redact.RedactURL(text)
	}
	return text
}
