package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"mcpc/internal/tests/module"
)

// bannedPhrases are phrases that messages, help, documents and comments once had in place
// of the usual terms. They match in any case, at word boundaries, over line breaks.
var bannedPhrases = []string{
	"said no", "for a model to read", "which channel", "channel failed", "channel fired", "server in the box",
	"what crossed", "what has crossed", "who you are", "who asks", "told unasked", "tells unasked",
	"does everything wrong", "stands between", "give recorded exchanges away", "gives recorded exchanges away",
	"look after", "looks after", "go on at a server", "another program's configuration says", "never confirmed",
	"nobody confirmed", "stands in", "stands behind", "stands beside", "stands here", "stands there", "asks first",
	"the server's word", "so expect it to change", "it ended while", "is no message", "is no JSON", "is no number",
	"is no name", "is no URL", "is no object", "is no array", "takes the steps", "hold what comes against",
	"not as expected", "authorities to believe", "in a file of your own", "server's era", "the way to the server",
	"folded in", "asked wrongly", "that you brought", "is not taken", "something came", "nothing came",
	"no longer waits", "had in mind", "is told of", "goes along", "go along", "whoever", "whom", "somebody",
	"nobody", "anybody", "everybody", "what is more", "knows no", "nothing is known of", "no such task here",
	"has a word", "without a word", "of its own account", "comes of it", "came of it", "is of no use",
}

var bannedPattern = sync.OnceValue(func() *regexp.Regexp {
	words := make([]string, len(bannedPhrases))
	for i, p := range bannedPhrases {
		words[i] = strings.ReplaceAll(regexp.QuoteMeta(p), " ", `\s+`)
	}
	return regexp.MustCompile(`(?i)\b(` + strings.Join(words, "|") + `)\b`)
})

// codeInPage matches code spans and link targets of Markdown, which have names of files and tests.
var codeInPage = regexp.MustCompile("`[^`\n]*`|" + `\[[A-Za-z0-9_-]+\](\([^)]*\))?|\]\([^)]*\)`)

func bannedIn(text string) []string { return bannedPattern().FindAllString(text, -1) }

func bannedInPage(text string) []string { return bannedIn(codeInPage.ReplaceAllString(text, "")) }

func TestBannedPhrasesAreFound(t *testing.T) {
	for _, text := range []string{
		"the tool said no", "the tool SAID\n no", "Nobody confirmed it", "x stands in FILE", "it ended while connecting",
	} {
		if len(bannedIn(text)) == 0 || len(bannedInPage(text)) == 0 {
			t.Errorf("not found: %q", text)
		}
	}
	for _, text := range []string{"tool error (result.isError = true)", "standstill", "understands in time"} {
		if found := bannedIn(text); found != nil {
			t.Errorf("%q in %q", found, text)
		}
	}
	if found := bannedInPage("see `somebody` and [S01-nobody](x/S01-nobody.txtar)"); found != nil {
		t.Errorf("code is text: %q", found)
	}
}

// eachSource parses each Go file of the program, and of scripts; tests among them.
func eachSource(t *testing.T, see func(path string, set *token.FileSet, file *ast.File)) {
	t.Helper()
	for _, folder := range []string{"cmd", "internal", "scripts"} {
		err := filepath.WalkDir(module.Path(t, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
			if err == nil {
				see(path, set, file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Strings of the program are its messages and its help.
func TestStringsHaveNoBannedPhrase(t *testing.T) {
	n := 0
	scripts := module.Path(t, "scripts") + string(filepath.Separator)
	eachSource(t, func(path string, set *token.FileSet, file *ast.File) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, scripts) {
			return
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if lit, ok := node.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value)
				for _, phrase := range bannedIn(text) {
					t.Errorf("%s: %q", set.Position(lit.Pos()), phrase)
				}
				n++
			}
			return true
		})
	})
	if n < 5000 {
		t.Errorf("only %d strings were read", n)
	}
}

// A comment names the actor: caller, server, client, user, process.
func TestCommentsHaveNoBannedPhrase(t *testing.T) {
	n := 0
	eachSource(t, func(_ string, set *token.FileSet, file *ast.File) {
		for _, group := range file.Comments {
			for _, phrase := range bannedIn(group.Text()) {
				t.Errorf("%s: %q", set.Position(group.Pos()), phrase)
			}
			n++
		}
	})
	if n < 5000 {
		t.Errorf("only %d comments were read", n)
	}
}

func TestPagesHaveNoBannedPhrase(t *testing.T) {
	pages := []string{module.Path(t, "internal/glossary/words.txt")}
	for _, glob := range []string{"*.md", "docs/*.md", "docs/*/*.md", "docs/ci/*"} {
		found, _ := filepath.Glob(module.Path(t, glob))
		if len(found) == 0 {
			t.Fatalf("no %s", glob)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, phrase := range bannedInPage(string(text)) {
			t.Errorf("%s: %q", page, phrase)
		}
	}
}
