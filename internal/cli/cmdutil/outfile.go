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

// Where a flag names a file to write. A file is replaced as a whole, and so is a link to
// one: another user may have put it there. A stream, a pipe or a device is written to,
// whatever its name.

// tempName is the pattern of a file that is not yet whole.
const tempName = ".mcpc-*"

// ReplaceFile writes a file as a whole.
func ReplaceFile(name string, data []byte) error {
	_, err := ReplaceBy(name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	return err
}

// ReplaceBy writes a temporary file beside the name and renames it, so that no
// reader ever sees half an answer. It gives the number of bytes.
func ReplaceBy(name string, write func(io.Writer) error) (int64, error) {
	if f, err := openStream(name); f != nil || err != nil {
		if err != nil {
			return 0, err
		}
		return fill(f, write)
	}
	f, err := os.CreateTemp(filepath.Dir(name), tempName)
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	n, err := fill(f, write)
	if err != nil {
		return n, err
	}
	return n, os.Rename(f.Name(), name)
}

// openStream opens what no file may take the place of; it is nil for any other name.
func openStream(name string) (*os.File, error) {
	if fd, ok := descriptor(name); ok {
		return tty.OpenInherited(fd)
	}
	if !isDevice(name) {
		return nil, nil
	}
	return os.OpenFile(name, os.O_WRONLY, 0)
}

// isDevice reports a device, a pipe or a socket, and a link that stands among the
// devices, whatever it leads to.
func isDevice(name string) bool {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return true
	}
	info, err := os.Lstat(name)
	folder, _ := filepath.EvalSymlinks(filepath.Dir(name))
	return err == nil && info.Mode()&fs.ModeSymlink != 0 && folder == "/dev"
}

// mostLinks is how many links a name may lead through, as in Linux.
const mostLinks = 40

// descriptor is the number of the stream of this process that a name leads to, as
// /dev/stdout does. Opened by name, a file behind it would be written from its start.
func descriptor(name string) (fd int, ok bool) {
	for range mostLinks {
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

// hasDescriptors reports the folder of the process's own streams, or that of a thread.
func hasDescriptors(folder string) bool {
	self, err := filepath.EvalSymlinks("/proc/self")
	if err != nil {
		return folder == "/dev/fd"
	}
	ofThread, _ := path.Match(self+"/task/*/fd", folder)
	return folder == self+"/fd" || ofThread
}

// fill writes a file, counts its bytes and closes it.
func fill(f *os.File, write func(io.Writer) error) (int64, error) {
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

// AppendTo appends text to a file, which it creates where there is none, or to a stream.
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

// Writable refuses -o where no file can be written: before anything is sent, and not
// when the answer is there.
func Writable(name string) wire.Outcome { return WritableAs("-o", name) }

// WritableAs is writable for a file of another flag.
func WritableAs(flag, name string) wire.Outcome {
	if name == "" {
		return wire.Outcome{}
	}
	bad := func(text string, err error) wire.Outcome {
		return wire.Outcome{Kind: wire.LocalIO, Phase: "output", Text: flag + ": " + text, Err: err}
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		out := bad(name+" is a directory", nil)
		out.Hint = wire.Hint(flag + " " + shellwords.Quote(filepath.Join(name, "FILE")))
		return out
	}
	folder := filepath.Dir(name)
	info, err := os.Stat(folder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return bad("no such directory: "+folder, nil)
	}
	if err := tryReplacing(name); err != nil {
		return bad(name+": "+usage.Bare(err).Error(), err)
	}
	return wire.Outcome{}
}

// AppendableAs is writableAs for a file that is added to.
func AppendableAs(flag, name string) wire.Outcome {
	if !IsFile(name) {
		return WritableAs(flag, name)
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

// IsFile reports that there is a file, and no stream or device.
func IsFile(name string) bool {
	info, err := os.Stat(name)
	_, stream := descriptor(name)
	return err == nil && info.Mode().IsRegular() && !stream
}

// tryReplacing finds out whether ReplaceBy may write. A device and a pipe are not opened:
// the pipe's reader would see end of file.
func tryReplacing(name string) error {
	if fd, ok := descriptor(name); ok {
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

// ShownFile is how a file to read is called.
func ShownFile(name string) string {
	if name == "-" {
		return "stdin"
	}
	return name
}
