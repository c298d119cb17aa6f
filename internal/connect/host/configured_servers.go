package host

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
	"mcpc/internal/yaml"
)

// The servers that other programs are configured with. Their files are read when a
// command needs them, and nothing of them is started, sent or kept for that.

// A ConfigFile is a configuration that is there.
type ConfigFile struct {
	Client  target.Client
	Path    string
	Servers []target.Server
	// Err is why it could not be read; it quotes nothing of the file.
	Err error
	// doc is all of it as JSON, while the files are read.
	doc json.RawMessage
}

// mostKnown bounds a configuration; some programs keep their history in it.
const mostKnown = 64 << 20

// ConfigFiles are the configurations of all clients, in the order of their table.
func (e *Env) ConfigFiles() []ConfigFile {
	if e.Known != nil {
		return *e.Known
	}
	here, err := os.Getwd()
	if err != nil {
		here = ""
	}
	var all []ConfigFile
	for _, c := range target.Clients {
		path := c.File(runtime.GOOS, e.Getenv)
		folder := here
		if c.Project {
			path, folder = upwards(here, path)
		}
		twice := slices.ContainsFunc(all, func(f ConfigFile) bool {
			return f.Path == path && slices.Equal(f.Client.Member, c.Member)
		})
		if !filepath.IsAbs(path) || twice {
			continue
		}
		f := ConfigFile{Client: c, Path: path}
		if i := slices.IndexFunc(all, func(other ConfigFile) bool { return other.Path == path && other.Err == nil }); i >= 0 {
			f.doc = all[i].doc // one file may hold several lists
		}
		if f.Read(folder) {
			all = append(all, f)
		}
	}
	switchOff(e, all)
	for i := range all {
		all[i].doc = nil
	}
	e.Known = &all
	return all
}

// switchOff marks what Claude Code was told not to use of a project's file. It says so
// in files of its own.
func switchOff(e *Env, all []ConfigFile) {
	i := slices.IndexFunc(all, func(f ConfigFile) bool { return f.Client.Name == "claude-code" && len(f.Servers) > 0 })
	if i < 0 {
		return
	}
	folder := all[i].Servers[0].Folder
	var off []string
	for _, f := range all {
		if f.Client.Name == "claude-code-user" {
			off = append(off, target.SwitchedOff(f.doc, folder)...)
		}
	}
	for _, name := range []string{filepath.Join(folder, ".claude", "settings.json"), filepath.Join(folder, ".claude", "settings.local.json"),
		filepath.Join(cmp.Or(e.Getenv("HOME"), e.Getenv("USERPROFILE")), ".claude", "settings.json")} {
		if raw, err := readRegular(name); err == nil {
			doc, _ := decoded(name, raw)
			off = append(off, target.SwitchedOff(doc, folder)...)
		}
	}
	for j := range all[i].Servers {
		s := &all[i].Servers[j]
		s.Disabled = s.Disabled || slices.Contains(off, s.Name)
	}
}

// upwards finds a file of a project in a folder or in the nearest one above.
func upwards(here, name string) (path, folder string) {
	for folder = here; folder != ""; {
		path = filepath.Join(folder, filepath.FromSlash(name))
		if _, err := os.Lstat(path); err == nil {
			return path, folder
		}
		above := filepath.Dir(folder)
		if above == folder {
			break
		}
		folder = above
	}
	return "", ""
}

// Read reads the file, and reports whether there is one with a list for the client.
func (f *ConfigFile) Read(folder string) bool {
	if f.doc == nil {
		raw, err := readRegular(f.Path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return false
		}
		if err == nil {
			f.doc, err = decoded(f.Path, raw)
		}
		f.Err = usage.Bare(err)
		if err != nil {
			return true
		}
	}
	f.Servers = target.Servers(f.Client, f.Path, folder, f.doc)
	for above := filepath.Dir(folder); f.Client.OfProjects() && len(f.Servers) == 0 && above != folder; above = filepath.Dir(folder) {
		folder = above
		f.Servers = target.Servers(f.Client, f.Path, folder, f.doc)
	}
	return len(f.Servers) > 0 || !f.Client.OfProjects()
}

// readRegular reads a file that is one: a pipe would be waited for.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	if info.Size() > mostKnown {
		return nil, fmt.Errorf("it has more than %d MiB", mostKnown>>20)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, mostKnown))
}

func decoded(path string, raw []byte) (json.RawMessage, error) {
	if ending := filepath.Ext(path); ending != ".yaml" && ending != ".yml" {
		return target.Decode(path, raw)
	}
	doc, err := yaml.Parse(raw)
	if at, ok := errors.AsType[*yaml.Error](err); ok {
		return nil, fmt.Errorf("unsupported YAML at line %d, column %d", at.Line, at.Column)
	}
	return doc.JSON, err
}

// ConfiguredServers are all of them; a file that cannot be read is a warning.
func (e *Env) ConfiguredServers() (all []target.Server) {
	for _, text := range e.UnreadableFiles() {
		e.UI.Warn(text)
	}
	for _, f := range e.ConfigFiles() {
		all = append(all, f.Servers...)
	}
	return all
}

// UnreadableFiles says of each file that cannot be read why that is.
func (e *Env) UnreadableFiles() (all []string) {
	told := map[string]bool{}
	for _, f := range e.ConfigFiles() {
		if f.Err != nil && !told[f.Path] {
			told[f.Path] = true
			all = append(all, f.Client.Title+": "+e.Tilde(f.Path)+" is omitted: "+f.Err.Error())
		}
	}
	return all
}

// Tilde is a path with ~ for the user's folder.
func (e *Env) Tilde(path string) string {
	if home := e.Getenv("HOME"); home != "" && strings.HasPrefix(path, home+string(filepath.Separator)) {
		return "~" + path[len(home):]
	}
	return path
}

// ConfiguredNames are what the servers are called: each by its name and, whatever else is
// called so, by that of its client and its own.
func (e *Env) ConfiguredNames() (names []string) {
	for _, f := range e.ConfigFiles() {
		for _, s := range f.Servers {
			names = append(names, s.Name, s.ID())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ServerNamed is the one server that a name means. Several of one name are no matter
// where they are the same, or where all but one are disabled.
func (e *Env) ServerNamed(name string) (target.Server, wire.Outcome) {
	for _, f := range e.ConfigFiles() { // then warnings about the others are not needed
		if i := slices.IndexFunc(f.Servers, func(s target.Server) bool { return s.ID() == name }); i >= 0 {
			return f.Servers[i], wire.Outcome{}
		}
	}
	called := slices.DeleteFunc(e.ConfiguredServers(), func(s target.Server) bool { return s.Name != name })
	if enabled := slices.DeleteFunc(slices.Clone(called), func(s target.Server) bool { return s.Disabled }); len(
		enabled,
	) > 0 {
		called = enabled
	}
	if len(called) == 0 {
		return target.Server{}, usage.Outcome(
			usage.New(fmt.Sprintf("the server %q is no longer configured", name), wire.Run("servers")+" lists them"),
		)
	}
	var ids []string
	same := true
	for _, s := range called {
		same = same && s.Same(called[0])
		ids = append(ids, s.ID())
	}
	if !same {
		return target.Server{}, usage.Outcome(
			usage.New(fmt.Sprintf("%q names %d different servers: %s", name, len(ids), strings.Join(ids, ", ")),
				"-s "+wire.Hint(ids[0])+" selects one; "+wire.Run("servers "+name)+" shows them"),
		)
	}
	return called[0], wire.Outcome{}
}
