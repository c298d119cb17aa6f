package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// A word is one argument as it is typed: PATH=TEXT, PATH:=JSON, PATH=@FILE or
// PATH:=@FILE. `mcpc help arguments` has the grammar.
type word struct {
	typed string
	path  []part
	// raw is the value where it is settled already; else text is one that the
	// schema gives a type.
	raw  json.RawMessage
	text string
}

// A part of a path goes into an object, by name, or into a list: to the item at, or behind
// the last one.
type part struct {
	name string
	list bool
	at   int // behindLast appends
}

const behindLast = -1

// key is the path as a person writes it.
func (w word) key() string {
	at, _ := operator(w.typed)
	return w.typed[:at]
}

// operator finds where the path ends and where the value begins; at is -1 in
// what is no word.
func operator(text string) (at, value int) {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == '=':
			return i, i + 1
		case text[i] == ':' && strings.HasPrefix(text[i:], ":="):
			return i, i + 2
		}
	}
	return -1, -1
}

// isDocument tells JSON, and what stands for it, from a word.
func isDocument(text string) bool {
	return text == "-" || strings.HasPrefix(text, "@") || firstOf(text) == "" || strings.Contains("{[\"", firstOf(text)) ||
		wire.Valid([]byte(text)) == nil
}

// isScalar tells a number, true, false and null from other JSON.
func isScalar(text string) bool {
	return !strings.Contains("{[\"", firstOf(text)) && wire.Valid([]byte(text)) == nil
}

// isUnnamed tells a value that has no name from a word and from JSON.
func isUnnamed(text string) bool {
	at, _ := operator(text)
	return at < 0 && (!isDocument(text) || isScalar(text))
}

func firstOf(text string) string {
	text = strings.TrimSpace(text)
	return text[:min(1, len(text))]
}

// word reads one. A flat one has a name in the place of a path.
func (a *env) word(typed string, flat bool) (word, error) {
	w := word{typed: typed}
	at, from := operator(typed)
	if at < 0 {
		return w, hinted("not NAME=VALUE: "+shortened(typed), `arguments are NAME=VALUE, or one JSON object: '{"a":1}'`)
	}
	if !utf8.ValidString(typed) {
		return w, hinted(shortened(typed)+" is not UTF-8, which JSON requires", "")
	}
	var err error
	if w.path, err = readPath(typed[:at], flat); err != nil {
		return w, hinted(shortened(typed)+": "+err.Error(), wire.Run("help arguments"))
	}
	value, isJSON := typed[from:], typed[at] == ':'
	whose := "the value of " + w.key()
	if strings.HasPrefix(value, "@") {
		raw, name, err := a.ui.input(value)
		known, ok := errors.AsType[hintedError](err)
		if err != nil && (!ok || known.hint != "") {
			return w, err
		}
		if err != nil {
			return w, hinted(err.Error(), wire.Hint(shellwords.Quote(w.key()+":="+string(wire.Quote(value)))+" sends this string"))
		}
		if !isJSON && !utf8.Valid(raw) {
			return w, hinted(name+" is not UTF-8, which JSON requires", "")
		}
		value, whose = string(raw), name
		w.raw = wire.Quote(value)
	}
	w.text = value
	if isJSON {
		w.raw = json.RawMessage(strings.TrimSpace(value))
		if bad := wire.Valid(w.raw); bad != nil {
			return w, &inputError{whose + " is not JSON: " + bad.Error(), wire.Hint(w.key() + "=… sends a string unchanged"), wire.InputFacts{Raw: w.raw, Offset: bad.Offset}}
		}
	}
	return w, nil
}

// readPath reads a.b, a[0], a[] and what is made of them. A backslash makes the
// character behind it a part of the name.
func readPath(text string, flat bool) (path []part, err error) {
	name, named := []byte(nil), false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			name, named = append(name, text[i]), true
		case c == '\\':
			return nil, errors.New("a character is missing after the backslash")
		case flat || c != '.' && c != '[':
			name, named = append(name, c), true
		case c == '.':
			if !named && (len(path) == 0 || !path[len(path)-1].list) {
				return nil, errors.New("a name is missing before the dot")
			}
			if path, named = flush(path, &name, named), false; i+1 == len(text) {
				return nil, errors.New("a name is missing after the dot")
			}
		default:
			if !named && (len(path) == 0 || !path[len(path)-1].list) {
				return nil, errors.New("a name is missing before the [")
			}
			path, named = flush(path, &name, named), false
			item, length, bad := readIndex(text[i:])
			if bad != nil {
				return nil, bad
			}
			if path, i = append(path, item), i+length-1; i+1 < len(text) && text[i+1] != '.' && text[i+1] != '[' {
				return nil, errors.New("only a dot or a [ can follow ]")
			}
		}
	}
	if path = flush(path, &name, named); len(path) == 0 {
		return nil, errors.New("a name is missing before the =")
	}
	return path, nil
}

// flush ends a name.
func flush(path []part, name *[]byte, named bool) []part {
	if named {
		path = append(path, part{name: string(*name)})
	}
	*name = nil
	return path
}

// readIndex reads [], which appends, or [3].
func readIndex(text string) (item part, length int, err error) {
	inner, _, closed := strings.Cut(text[1:], "]")
	if item = (part{list: true, at: behindLast}); closed && inner == "" {
		return item, 2, nil
	}
	n, bad := strconv.ParseUint(inner, 10, 31)
	if !closed || bad != nil {
		return item, 0, errors.New("[ ] takes a number, or nothing to append; write \\[ for a literal [")
	}
	item.at = int(n)
	return item, len(inner) + 2, nil
}

// A placed keeps which places words have filled, so that no word can undo
// another one without anybody noticing.
type placed struct {
	flat            bool
	filled, entered map[string]string
	lists           map[string]bool
	appended        int
}

func newPlaced(flat bool) *placed {
	return &placed{flat: flat, filled: map[string]string{}, entered: map[string]string{}, lists: map[string]bool{}}
}

// put notes a word; its error names the one that it contradicts.
func (p *placed) put(w word) error {
	var place strings.Builder
	for i, s := range w.path {
		if s.list {
			appends, known := p.lists[place.String()]
			if known && appends != (s.at == behindLast) {
				return hinted(shortened(w.typed)+": use [] or numbers, not both", wire.Run("help arguments"))
			}
			p.lists[place.String()] = s.at == behindLast
		}
		switch {
		case !s.list:
			place.WriteString("." + strconv.Quote(s.name))
		case s.at == behindLast:
			p.appended++
			fmt.Fprintf(&place, "[+%d]", p.appended)
		default:
			fmt.Fprintf(&place, "[%d]", s.at)
		}
		if i < len(w.path)-1 {
			if p.entered[place.String()] == "" {
				p.entered[place.String()] = w.typed
			}
			continue
		}
		if before := cmp.Or(p.filled[place.String()], p.entered[place.String()]); before != "" {
			hint := w.key() + "[]=… for each value makes a list"
			if p.flat {
				hint = "use only one of them"
			}
			return hinted(fmt.Sprintf("%s and %s give the same argument twice", shortened(before), shortened(w.typed)), wire.Hint(hint))
		}
		p.filled[place.String()] = w.typed
	}
	return nil
}

// shortened is a word as an error names it.
func shortened(typed string) string { return strconv.Quote(wire.Excerpt([]byte(typed), 60)) }

// argumentNames are those that a remembered tool or prompt takes, if they are words to
// every shell, the required ones first.
func (a *app) argumentNames(cmd *cobra.Command, k kind, name string) (names []string) {
	entry := a.entryOf(cmd, k, name)
	if entry == nil {
		return nil
	}
	var required, others []string
	listed, _ := wire.Array(wire.First(wire.First(entry.Raw, "inputSchema"), "required"))
	properties, _ := wire.Object(wire.First(wire.First(entry.Raw, "inputSchema"), "properties"))
	for _, m := range properties {
		others = append(others, m.Name)
	}
	arguments, _ := wire.Array(wire.First(entry.Raw, "arguments"))
	for _, raw := range arguments {
		if name, _ := wire.Text(wire.First(raw, "name")); string(wire.First(raw, "required")) == "true" {
			required = append(required, name)
		} else {
			others = append(others, name)
		}
	}
	for _, name := range slices.Concat(required, mapped(listed, textOf), others) {
		if inert(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
