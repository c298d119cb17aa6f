package wire

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Secrets hides what is secret in frames and texts before anybody keeps or shows
// them: the values of members, assignments and header fields that are named like
// secrets, what looks like a well-known token, and, wherever they stand, the
// values that it was told or came across. Its zero value and nil know no values.
//
// What is not named like a secret and looks like none cannot be told from any
// other text.
type Secrets struct {
	mu    sync.Mutex
	known []knownSecret
	// hunt finds the forms of known; nil where there are new ones.
	hunt *hunt
}

// A knownSecret is a value, the ways in which it may be written, and what stands
// in its place.
type knownSecret struct {
	value string
	forms [][]byte
	shown []byte
}

// shortestKnown is how long a value must be to be looked for everywhere: shorter
// ones stand in texts by chance. mostKnown bounds the search.
const (
	shortestKnown = 8
	mostKnown     = 200
)

// Learn notes values that are secret wherever they stand.
func (s *Secrets) Learn(values ...string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, value := range values {
		known := slices.ContainsFunc(s.known, func(k knownSecret) bool { return k.value == value })
		if len(value) < shortestKnown || len(s.known) == mostKnown || known || isHidden(value) {
			continue
		}
		s.known = append(s.known, knownSecret{value, forms(value), []byte(Redacted(value))})
		s.hunt = nil
	}
}

// LearnField notes what RedactField hides of a header field.
func (s *Secrets) LearnField(f Field) {
	if s == nil {
		return
	}
	if isURLField(f.Name) || RedactField(f).Value == f.Value {
		s.LearnURL(f.Value)
		return
	}
	s.Learn(f.Value)
	if strings.Contains(strings.ToLower(f.Name), "cookie") {
		cookies := strings.Split(f.Value, ";")
		if strings.EqualFold(f.Name, "Set-Cookie") {
			cookies = cookies[:1] // the rest are its attributes
		}
		for _, cookie := range cookies {
			_, value, _ := strings.Cut(cookie, "=")
			s.Learn(strings.Trim(value, whiteSpace+`"`))
		}
	} else if _, rest, ok := strings.Cut(f.Value, " "); ok {
		s.Learn(strings.TrimSpace(rest))
	}
}

// LearnURL notes the password and the secret parameters of a URL.
func (s *Secrets) LearnURL(raw string) {
	if s == nil || !strings.ContainsAny(raw, "@=") {
		return
	}
	u, err := url.Parse(raw)
	if err != nil {
		return
	}
	if password, ok := u.User.Password(); ok {
		s.Learn(password)
	} else {
		s.Learn(u.User.Username())
	}
	for name, values := range u.Query() {
		if secretName(name) {
			s.Learn(values...)
		}
	}
}

// LearnCommand notes the secrets among the words of a command.
func (s *Secrets) LearnCommand(argv []string) {
	for i, word := range argv {
		name, value, assigned := strings.Cut(word, "=")
		switch {
		case i > 0 && !strings.HasPrefix(word, "-") && isSecretFlag(argv[i-1]):
			s.Learn(word)
		case assigned && secretName(name):
			s.Learn(value)
		default:
			s.LearnURL(word)
		}
	}
}

// LearnEnvironment notes the secrets of an environment of "NAME=value". PWD is no
// password there.
func (s *Secrets) LearnEnvironment(environ []string) {
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); secretName(name) && name != "PWD" {
			s.Learn(value)
		}
	}
}

// Command is what may be kept or shown of a command's words.
func (s *Secrets) Command(argv []string) []string {
	words := RedactCommand(argv)
	for i, word := range words {
		words[i] = s.Text(word)
	}
	return words
}

// Text is what may be kept or shown of a text.
func (s *Secrets) Text(text string) string {
	safe, n := s.Bytes([]byte(text))
	if n == 0 {
		return text
	}
	return string(safe)
}

// Frame is f without its secrets. Where it has any the bytes are new ones; f's
// own are not written to.
func (s *Secrets) Frame(f Frame) Frame {
	if len(f.Raw) > 0 {
		safe, n := s.Bytes(f.Raw)
		if n > 0 {
			f.Size, f.Raw, f.Hidden = f.Bytes(), safe, f.Hidden+n
		}
	}
	if f.HTTP != nil {
		head := *f.HTTP
		if head.URL = s.Text(RedactURL(head.URL)); strings.Contains(head.URL, marks[0]) {
			head.URL = hiddenIn().ReplaceAllStringFunc(head.URL, inURL)
		}
		head.Fields = slices.Clone(head.Fields)
		for i, field := range head.Fields {
			head.Fields[i] = s.field(field)
		}
		f.HTTP = &head
	}
	if f.Close != nil && f.Close.Text != "" {
		end := *f.Close
		end.Text = s.Text(end.Text)
		f.Close = &end
	}
	if f.SSE != nil && f.SSE.Event != "" {
		facts := *f.SSE
		facts.Event = s.Text(facts.Event)
		f.SSE = &facts
	}
	return f
}

func (s *Secrets) field(f Field) Field {
	safe := RedactField(f)
	if safe != f {
		s.LearnField(f)
		return safe
	}
	return Field{f.Name, s.Text(f.Value)}
}

// Bytes is raw without its secrets, and how many there were. Raw itself is not
// written to, and comes back where there were none.
func (s *Secrets) Bytes(raw []byte) (safe []byte, n int) {
	safe = raw
	for _, look := range []func([]byte) ([]byte, int){hideURLs, s.hideNamed, hideTokens, s.hideKnown} {
		more := 0
		safe, more = look(safe)
		n += more
	}
	return safe, n
}

func (s *Secrets) hideKnown(raw []byte) (safe []byte, n int) {
	if s == nil {
		return raw, 0
	}
	s.mu.Lock()
	known := s.known[:len(s.known):len(s.known)]
	if s.hunt == nil {
		s.hunt = newHunt(known)
	}
	hunt := s.hunt
	s.mu.Unlock()
	if !hunt.finds(raw) {
		return raw, 0
	}
	for _, k := range known {
		for _, form := range k.forms {
			if found := bytes.Count(raw, form); found > 0 {
				raw, n = bytes.ReplaceAll(raw, form, k.shown), n+found
			}
		}
	}
	return raw, n
}

// forms are the ways in which a value is written: as it is, in a JSON string, in
// a URL.
func forms(value string) (all [][]byte) {
	quoted := string(Quote(value))
	texts := []string{value, quoted[1 : len(quoted)-1], url.QueryEscape(value), url.PathEscape(value)}
	slices.Sort(texts)
	for _, text := range slices.Compact(texts) {
		if len(text) >= shortestKnown { // what is no UTF-8 becomes short where it is quoted
			all = append(all, []byte(text))
		}
	}
	return all
}
