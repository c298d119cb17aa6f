// Command release makes the files that users get; scripts/release.sh runs it. Two runs on one
// commit give the same bytes: all times are the time of the commit, names are sorted, and no file
// depends on the folder of the build.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A release is the result of one run. Paths are absolute.
type release struct {
	root, out string
	// version has no leading v. downloads is the URL below which the files will be published, in
	// downloads/vVERSION/.
	version, downloads string
	// publisher is the account under which winget and the MCP registry list mcpc.
	publisher string
	commit    string
	time      time.Time
	targets   []target
	// extra is a folder with the man pages and the completions.
	extra string
	// notices are the licences of all linked modules as one text.
	notices []byte
	// sums are the SHA-256 hashes of the files in out, by name.
	sums map[string]string
}

// placeholder is the download URL of a snapshot. It does not exist.
const placeholder = "https://downloads.example/mcpc"

// placeholderPublisher is the publisher of a snapshot.
const placeholderPublisher = "example"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run() error {
	var r release
	var only string
	var twice bool
	flag.StringVar(&r.root, "root", "", "the repository")
	flag.StringVar(&r.out, "out", "dist", "the folder that is filled")
	flag.StringVar(&r.version, "version", "", "X.Y.Z; nothing is a snapshot")
	flag.StringVar(&r.downloads, "downloads", "", "URL below which v(version)/ will have the files")
	flag.StringVar(&r.publisher, "publisher", "", "account in the registries of winget and MCP")
	flag.StringVar(&only, "only", "", "os/arch,...; nothing is all of them")
	flag.BoolVar(&twice, "twice", false, "build again elsewhere and compare")
	flag.Parse()
	if err := r.readSettings(only); err != nil {
		return err
	}
	if err := r.makeAll(); err != nil {
		return err
	}
	fmt.Printf("release: mcpc %s for %d platforms, %d files in %s\n", r.version, len(r.targets), len(r.sums), r.out)
	if twice {
		return r.makeAgainAndCompare()
	}
	return nil
}

// readSettings reads the settings of the run. It returns an error if a release lacks a setting or the
// checkout has changes.
func (r *release) readSettings(only string) (err error) {
	epoch, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	r.time, r.commit = time.Unix(epoch, 0).UTC(), os.Getenv("MCPC_COMMIT")
	switch {
	case r.version == "":
		r.version = "0.0.0-snapshot." + strings.TrimSuffix("g"+r.commit[:min(7, len(r.commit))], "+")
	case r.downloads == "":
		return fmt.Errorf("a release wants --downloads URL")
	case r.publisher == "":
		return fmt.Errorf("a release wants --publisher NAME")
	case strings.HasSuffix(r.commit, "+"), r.commit == "unknown":
		return fmt.Errorf("a release is made of a clean checkout of a commit: git status")
	}
	if r.downloads == "" {
		r.downloads = placeholder
	}
	if r.publisher == "" {
		r.publisher = placeholderPublisher
	}
	r.targets, err = selectTargets(only)
	if !filepath.IsAbs(r.out) {
		r.out = filepath.Join(r.root, r.out)
	}
	return err
}

// makeAll writes all files into r.out.
func (r *release) makeAll() error {
	r.sums = map[string]string{}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	for _, step := range []func() error{r.checkFlake, r.build, r.collectLicences, r.writeExtras, r.writeArchives, r.writeBills, r.writePackages, r.writeNPM, r.writeRecipes, r.writeChecksums} {
		if err := step(); err != nil {
			return err
		}
	}
	return os.RemoveAll(filepath.Join(r.out, "build"))
}

// writeChecksums writes the hashes in the format of sha256sum. It is the last step.
func (r *release) writeChecksums() error {
	err := filepath.WalkDir(r.out, func(path string, d os.DirEntry, err error) error {
		name, _ := filepath.Rel(r.out, path)
		if d.IsDir() && name == "build" {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() {
			return err
		}
		return r.addSum(filepath.ToSlash(name))
	})
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, name := range sortedKeys(r.sums) {
		fmt.Fprintf(&list, "%s  %s\n", r.sums[name], name)
	}
	return r.write("checksums.txt", []byte(list.String()))
}

// addSum adds the hash of a file in r.out to r.sums.
func (r *release) addSum(name string) error {
	raw, err := os.ReadFile(filepath.Join(r.out, name))
	r.sums[name] = fmt.Sprintf("%x", sha256.Sum256(raw))
	return err
}

// write creates a file in r.out.
func (r *release) write(name string, raw []byte) error {
	path := filepath.Join(r.out, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, raw, 0o644)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
