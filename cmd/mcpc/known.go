package main

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
	"mcpc/internal/wire"
	"mcpc/internal/yaml"
)

// The servers that other programs are configured with. Their files are read when
// somebody asks, and nothing of them is started, sent or kept for that.

// A knownFile is a configuration that is there.
type knownFile struct {
	client  target.Client
	path    string
	servers []target.Server
	// err is why it could not be read; it quotes nothing of the file.
	err error
	// doc is all of it as JSON, while the files are read.
	doc json.RawMessage
}

// mostKnown bounds a configuration; some programs keep their history in it.
const mostKnown = 64 << 20

// knownFiles are the configurations of all clients, in the order of their table.
func (a *env) knownFiles() []knownFile {
	if a.known != nil {
		return *a.known
	}
	here, err := os.Getwd()
	if err != nil {
		here = ""
	}
	var all []knownFile
	for _, c := range target.Clients {
		path, folder := c.File(runtime.GOOS, a.getenv), here
		if c.Project {
			path, folder = upwards(here, path)
		}
		twice := slices.ContainsFunc(all, func(f knownFile) bool {
			return f.path == path && slices.Equal(f.client.Member, c.Member)
		})
		if !filepath.IsAbs(path) || twice {
			continue
		}
		f := knownFile{client: c, path: path}
		if i := slices.IndexFunc(all, func(other knownFile) bool { return other.path == path && other.err == nil }); i >= 0 {
			f.doc = all[i].doc // one file may hold several lists
		}
		if f.read(folder) {
			all = append(all, f)
		}
	}
	a.switchOff(all)
	for i := range all {
		all[i].doc = nil
	}
	a.known = &all
	return all
}

// switchOff marks what Claude Code was told not to use of a project's file. It says so
// in files of its own.
func (a *env) switchOff(all []knownFile) {
	i := slices.IndexFunc(all, func(f knownFile) bool { return f.client.Name == "claude-code" && len(f.servers) > 0 })
	if i < 0 {
		return
	}
	folder := all[i].servers[0].Folder
	var off []string
	for _, f := range all {
		if f.client.Name == "claude-code-user" {
			off = append(off, target.SwitchedOff(f.doc, folder)...)
		}
	}
	for _, name := range []string{filepath.Join(folder, ".claude", "settings.json"), filepath.Join(folder, ".claude", "settings.local.json"),
		filepath.Join(cmp.Or(a.getenv("HOME"), a.getenv("USERPROFILE")), ".claude", "settings.json")} {
		if raw, err := readRegular(name); err == nil {
			doc, _ := decoded(name, raw)
			off = append(off, target.SwitchedOff(doc, folder)...)
		}
	}
	for j := range all[i].servers {
		s := &all[i].servers[j]
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

// read reads the file, and reports whether there is one with a list for the client.
func (f *knownFile) read(folder string) bool {
	if f.doc == nil {
		raw, err := readRegular(f.path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return false
		}
		if err == nil {
			f.doc, err = decoded(f.path, raw)
		}
		if f.err = bare(err); err != nil {
			return true
		}
	}
	f.servers = target.Servers(f.client, f.path, folder, f.doc)
	for above := filepath.Dir(folder); f.client.OfProjects() && len(f.servers) == 0 && above != folder; above = filepath.Dir(folder) {
		folder = above
		f.servers = target.Servers(f.client, f.path, folder, f.doc)
	}
	return len(f.servers) > 0 || !f.client.OfProjects()
}

// readRegular reads a file that is one: a pipe would be waited for.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() > mostKnown:
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

// knownServers are all of them; a file that cannot be read is a warning.
func (a *env) knownServers() (all []target.Server) {
	for _, text := range a.leftOut() {
		a.ui.warn(text)
	}
	for _, f := range a.knownFiles() {
		all = append(all, f.servers...)
	}
	return all
}

// leftOut says of each file that cannot be read why that is.
func (a *env) leftOut() (all []string) {
	told := map[string]bool{}
	for _, f := range a.knownFiles() {
		if f.err != nil && !told[f.path] {
			told[f.path] = true
			all = append(all, f.client.Title+": "+a.tilde(f.path)+" is omitted: "+f.err.Error())
		}
	}
	return all
}

// tilde is a path with ~ for the user's folder.
func (a *env) tilde(path string) string {
	if home := a.getenv("HOME"); home != "" && strings.HasPrefix(path, home+string(filepath.Separator)) {
		return "~" + path[len(home):]
	}
	return path
}

// knownNames are what the servers are called: each by its name and, whatever else is
// called so, by that of its client and its own.
func (a *env) knownNames() (names []string) {
	for _, f := range a.knownFiles() {
		for _, s := range f.servers {
			names = append(names, s.Name, s.ID())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// serverNamed is the one server that a name means. Several of one name are no matter
// where they are the same, or where all but one are disabled.
func (a *env) serverNamed(name string) (target.Server, wire.Outcome) {
	for _, f := range a.knownFiles() { // of the others nobody needs to hear then
		if i := slices.IndexFunc(f.servers, func(s target.Server) bool { return s.ID() == name }); i >= 0 {
			return f.servers[i], wire.Outcome{}
		}
	}
	called := slices.DeleteFunc(a.knownServers(), func(s target.Server) bool { return s.Name != name })
	if enabled := slices.DeleteFunc(slices.Clone(called), func(s target.Server) bool { return s.Disabled }); len(enabled) > 0 {
		called = enabled
	}
	if len(called) == 0 {
		return target.Server{}, usage(hinted(fmt.Sprintf("the server %q is no longer configured", name), wire.Run("servers")+" lists them"))
	}
	var ids []string
	same := true
	for _, s := range called {
		same = same && s.Same(called[0])
		ids = append(ids, s.ID())
	}
	if !same {
		return target.Server{}, usage(hinted(fmt.Sprintf("%q names %d different servers: %s", name, len(ids), strings.Join(ids, ", ")),
			"-s "+wire.Hint(ids[0])+" selects one; "+wire.Run("servers "+name)+" shows them"))
	}
	return called[0], wire.Outcome{}
}
