package cmdutil

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"mcpc/internal/shellwords"
	"mcpc/internal/tty"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// Flags such as -o name a file to write. A regular file is replaced as a whole, and so is a
// symbolic link: another user may have put it there. A stream, a pipe or a device is written to,
// whatever its name.

// tempName is the pattern of the names of temporary files.
const tempName = ".mcpc-*"

// ReplaceFile writes data to the named file as ReplaceBy does.
func ReplaceFile(name string, data []byte) error {
	_, err := ReplaceBy(name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	return err
}

// ReplaceBy writes a temporary file in the same folder and renames it, so that no reader sees an
// incomplete file. It writes directly to a stream, a pipe or a device. It returns the number of
// bytes that write has written.
func ReplaceBy(name string, write func(io.Writer) error) (int64, error) {
	stream, err := openStream(name)
	if err != nil {
		return 0, err
	}
	if stream != nil {
		return writeAndClose(stream, write)
	}
	temporary, err := os.CreateTemp(filepath.Dir(name), tempName)
	if err != nil {
		return 0, err
	}
	defer os.Remove(temporary.Name()) // fails once the file is renamed
	n, err := writeAndClose(temporary, write)
	if err != nil {
		return n, err
	}
	return n, os.Rename(temporary.Name(), name)
}

// openStream opens a stream, a pipe or a device. Returns nil if name is something else.
func openStream(name string) (*os.File, error) {
	if fd, ok := ownDescriptor(name); ok {
		return tty.OpenInherited(fd)
	}
	if !isDevice(name) {
		return nil, nil
	}
	return os.OpenFile(name, os.O_WRONLY, 0)
}

// isDevice reports whether name is a device, a pipe or a socket, or any symbolic link in /dev: a
// link such as /dev/stdout may lead to a regular file that must not be replaced.
func isDevice(name string) bool {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return true
	}
	info, err := os.Lstat(name)
	isLink := err == nil && info.Mode()&fs.ModeSymlink != 0
	folder, _ := filepath.EvalSymlinks(filepath.Dir(name))
	return isLink && folder == "/dev"
}

// maxLinks limits how many symbolic links are followed, as Linux does.
const maxLinks = 40

// ownDescriptor returns the number of the process's own stream that name leads to, as /dev/stdout
// does. It reports false for other names. Opening such a name would write a redirected file from its
// start.
func ownDescriptor(name string) (int, bool) {
	for range maxLinks {
		folder, err := filepath.EvalSymlinks(filepath.Dir(name))
		if err != nil {
			return 0, false
		}
		base := filepath.Base(name)
		if n, err := strconv.ParseUint(base, 10, 31); err == nil && hasDescriptors(folder) {
			return int(n), true
		}
		name, err = os.Readlink(filepath.Join(folder, base))
		if err != nil {
			return 0, false
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(folder, name)
		}
	}
	return 0, false
}

// hasDescriptors reports whether the folder holds the streams of this process, or of a thread of
// it.
func hasDescriptors(folder string) bool {
	self, err := filepath.EvalSymlinks("/proc/self")
	if err != nil {
		return folder == "/dev/fd"
	}
	isThread, _ := path.Match(self+"/task/*/fd", folder)
	return folder == self+"/fd" || isThread
}

// writeAndClose calls write with f, counts the bytes and closes f.
func writeAndClose(f *os.File, write func(io.Writer) error) (int64, error) {
	count := &counter{w: f}
	err := write(count)
	return count.n, errors.Join(err, f.Close())
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// AppendTo appends text to a stream or a file. It creates the file if needed.
func AppendTo(name string, text []byte) error {
	f, err := openStream(name)
	if f == nil && err == nil {
		f, err = os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// CheckOutput returns a failure if the file of -o cannot be written. Commands call it before they
// send anything.
func CheckOutput(name string) wire.Outcome { return CheckWritable("-o", name) }

// CheckWritable returns a failure if a file can be neither created nor replaced. flag is the flag that
// names the file, for the text of the failure. An empty name is OK.
func CheckWritable(flag, name string) wire.Outcome {
	if name == "" {
		return wire.Outcome{}
	}
	failure := func(text string, err error) wire.Outcome {
		return wire.Outcome{Kind: wire.LocalIO, Phase: "output", Text: flag + ": " + text, Err: err}
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		out := failure(name+" is a directory", nil)
		out.Hint = wire.Hint(flag + " " + shellwords.Quote(filepath.Join(name, "FILE")))
		return out
	}
	folder := filepath.Dir(name)
	info, err := os.Stat(folder)
	isNoFolder := err == nil && !info.IsDir()
	if errors.Is(err, fs.ErrNotExist) || isNoFolder {
		return failure("no such directory: "+folder, nil)
	}
	if err := tryReplacing(name); err != nil {
		return failure(name+": "+usage.Bare(err).Error(), err)
	}
	return wire.Outcome{}
}

// CheckAppendable returns a failure if a file can be neither appended to nor created. flag is the
// flag that names the file, for the text of the failure. An empty name is OK.
func CheckAppendable(flag, name string) wire.Outcome {
	if !IsFile(name) { // a new file, a stream or a device
		return CheckWritable(flag, name)
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return wire.Outcome{
			Kind:  wire.LocalIO,
			Phase: "output",
			Text:  flag + ": " + name + ": " + usage.Bare(err).Error(),
			Err:   err,
		}
	}
	_ = f.Close() // nothing was written
	return wire.Outcome{}
}

// IsFile reports whether name is an existing regular file and not a stream.
func IsFile(name string) bool {
	info, err := os.Stat(name)
	_, isStream := ownDescriptor(name)
	return err == nil && info.Mode().IsRegular() && !isStream
}

// tryReplacing returns an error if ReplaceBy could not write the file. It does not open devices and
// pipes: the reader of a pipe would see its end.
func tryReplacing(name string) error {
	if fd, ok := ownDescriptor(name); ok {
		f, err := tty.OpenInherited(fd)
		if err != nil {
			return err
		}
		return f.Close()
	}
	if isDevice(name) {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(name), tempName)
	if err != nil {
		return err
	}
	err = f.Close()
	if os.Remove(f.Name()) != nil { // try again, so that no temporary file is left
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// ShownFile returns the name of an input file for messages: "stdin" for "-".
func ShownFile(name string) string {
	if name == "-" {
		return "stdin"
	}
	return name
}
