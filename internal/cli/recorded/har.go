package recorded

import (
	"errors"
	"fmt"
	"io"

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
		err = usage.New(name+" is "+archive.Error(), "import reads HAR 1.2")
	}
	return facts, err
}
