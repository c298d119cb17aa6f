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

// A side is one of the two descriptions of a comparison.
type side struct {
	name string // for the report, as the user typed it
	file string // the path in the repository, or ""
	diff.Snapshot
	// probed is set if a client asked for stateless revisions, so that Revisions lacks none.
	probed bool
	// live is set if the description comes directly from a server, with nothing hidden.
	live bool
	// partial are the names of the lists for which a recording lacks pages.
	partial map[string]bool
	// calls are the calls of a recording.
	calls []recordedCall
	// listErr is the error of the first list of a server that failed, or nil. Such a list is nil.
	listErr error
	// raw is the content of the lock file to replace.
	raw []byte
}

// A source says where a side comes from. At most one of server, recording, file, git, stdin and
// err is set. An empty text is the server that the global flags select.
type source struct {
	text string
	// argv is the command of a server.
	argv []string
	// server, recording, file, git and stdin say what text is.
	server, recording, file, git, stdin bool
	// err is set where the word cannot be meant.
	err error
}

// A loader loads the sides of one command.
type loader struct {
	f *cmdutil.Factory
}

// ringWord matches the words of the ring, and ofFile a file with the number of an exchange.
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
	w := source{text: text}
	path := text
	if parts := fileExchange().FindStringSubmatch(text); parts != nil {
		path = parts[1]
	}
	info, err := os.Stat(path)
	there := err == nil && !info.IsDir()
	switch {
	case text == "-":
		w.stdin = true
	case strings.HasPrefix(text, gitPrefix):
		w.git = true
	case ringWord().MatchString(text):
		w.recording = true
	case cmdutil.IsURL(text):
		w.server = true
	case there && isName(l.f, text):
		w.err = usage.New(text+" is a file and the name of a server", wire.Hint("./"+text+" is the file; rename either"))
	case there:
		w.file = true
	case err == nil:
		w.err = usage.New(text+" is a directory", "name a file in it, as "+wire.Hint(filepath.Join(text, lockfile.Name)))
	case path != text || strings.HasSuffix(text, ".json") || capture.NamesRecording(text):
		w.err = usage.New(
			"no such file: "+path,
			wire.Run("diff --lock TARGET")+" writes a lock file; "+wire.Run("log")+" lists recordings",
		)
	default:
		w.server = true
	}
	return w
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
func (l *loader) load(ctx context.Context, w source) (side, error) {
	switch {
	case w.err != nil:
		return side{}, w.err
	case w.server:
		return l.loadServer(ctx, w)
	case w.recording:
		return l.loadRecording(w)
	case w.stdin:
		in := bufio.NewReader(l.f.In)
		l.f.In = in
		if recorded.IsRecording(in) {
			return l.loadRecording(w)
		}
	case w.file:
		if info, err := os.Stat(w.text); err != nil || info.Mode().IsRegular() {
			return l.loadFile(ctx, w)
		}
	}
	return l.loadBytes(ctx, w)
}

// loadFile reads a file, which says by its first line whether it is a recording.
func (l *loader) loadFile(ctx context.Context, w source) (side, error) {
	if cmdutil.IsFile(w.text) { // else it has the number of an exchange
		c, err := recorded.OpenFile(l.f, w.text)
		if errors.Is(err, rows.ErrNoCapture) {
			return l.loadBytes(ctx, w)
		}
		if err != nil {
			return side{}, cmdutil.Exit(recorded.Unreadable(w.text, err))
		}
		c.Close()
	}
	return l.loadRecording(w)
}

// loadBytes loads a lock file or a list of tools from a file, from stdin or from a commit.
func (l *loader) loadBytes(ctx context.Context, w source) (side, error) {
	var raw []byte
	var err error
	s := side{name: w.text, file: w.text, probed: true}
	switch {
	case w.git:
		s.file, raw, err = readGit(ctx, w.text)
		if err != nil {
			return side{}, err
		}
	case w.stdin:
		s.name = "stdin"
		s.file = ""
		raw, err = host.ReadUpTo(l.f.In, host.MostInput)
	default:
		raw, err = l.f.Env.ReadFile(w.text, host.MostInput)
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
	var said bytes.Buffer
	cmd.Stderr = &said
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
		reason, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		return "", nil, usage.New(
			"git has no "+object+": "+strings.TrimPrefix(reason, "fatal: "),
			"git log -- "+wire.Hint(path)+" shows its commits",
		)
	}
	return path, raw, nil
}

// alignHidden hides on both sides what was hidden in a recording or a lock file: what stood there is not
// known, so it is no difference.
func alignHidden(a, b *side) {
	if a.live && b.live {
		return
	}
	for _, k := range lists {
		was := k.in(&a.Snapshot)
		is := k.in(&b.Snapshot)
		if *was != nil && *is != nil {
			*was, *is = hidden.Lists(*was, *is, k.Key)
		}
	}
	for _, of := range []func(*diff.Snapshot) *json.RawMessage{
		func(s *diff.Snapshot) *json.RawMessage { return &s.Implementation },
		func(s *diff.Snapshot) *json.RawMessage { return &s.Capabilities },
		func(s *diff.Snapshot) *json.RawMessage { return &s.Instructions },
	} {
		was := of(&a.Snapshot)
		is := of(&b.Snapshot)
		*was, *is = hidden.Align(*was, *is)
	}
}

// displayName returns the name of a server for the report.
func displayName(text string) string {
	if cmdutil.IsURL(text) {
		return redact.RedactURL(text)
	}
	return text
}
