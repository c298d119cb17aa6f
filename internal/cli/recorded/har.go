package recorded

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mcpc/internal/capture"
	"mcpc/internal/capture/bundle"
	"mcpc/internal/capture/har"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/english"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// Import writes what is MCP in an HTTP archive as a capture. An archive that cannot be read, or
// has no MCP, is a usage error about the file of this name.
func Import(f *cmdutil.Factory, w io.Writer, r io.Reader, name string) (har.Imported, error) {
	if f.Environ != nil {
		f.Secrets.LearnEnvironment(f.Environ())
	}
	facts, err := har.Import(w, r, f.Version, &f.Secrets)
	var archive *har.ArchiveError
	switch {
	case err == nil && facts.Entries == 0:
		err = usage.New(fmt.Sprintf("%s has no MCP among its %s", name, english.Plural(facts.Other+facts.Unreadable, "request")), "record with the requests' and responses' bodies")
	case errors.As(err, &archive) && archive.Flows:
		err = usage.New(name+" is "+archive.Error(), wire.Hint("mitmproxy writes an archive of it: mitmdump -nr "+shellwords.Quote(name)+" --set hardump=FILE.har"))
	case errors.As(err, &archive):
		err = usage.New(name+" is "+archive.Error(), "an HTTP archive (HAR 1.2) is what the network panel of a browser saves")
	}
	return facts, err
}

// OpenAny opens a capture, a bundle, or an HTTP archive, of which it makes a capture that is no
// file of its own. The errors are those of OpenFile and Import.
func OpenAny(f *cmdutil.Factory, path string) (*capture.Capture, error) {
	c, err := OpenFile(path)
	if !errors.Is(err, capture.ErrNoCapture) {
		return c, err
	}
	in, failed := os.Open(path)
	if failed != nil {
		return nil, failed
	}
	defer in.Close()
	if begin, _ := bufio.NewReader(io.LimitReader(in, 512)).ReadString('{'); strings.TrimLeft(strings.TrimPrefix(begin, "\uFEFF"), " \t\r\n") != "{" && strings.ToLower(filepath.Ext(path)) != ".har" {
		return nil, err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	file, err := bundle.Temporary()
	if err != nil {
		return nil, err
	}
	if _, err = Import(f, file, in, path); err == nil {
		c, err = capture.OpenFrom(path, file)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return c, nil
}
