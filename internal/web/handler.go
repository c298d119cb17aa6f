package web

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"mcpc/internal/live/view"
)

// contentSecurityPolicy allows the page to load its own files and nothing else. With apps, policy adds the
// frames of the sandbox.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"media-src blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

const (
	// maxPosted bounds a request body in bytes. bodyTimeout bounds the time for reading it.
	maxPosted   = 8 << 20
	bodyTimeout = 30 * time.Second
)

// A refusal is an error with an HTTP status.
type refusal struct {
	status int
	text   string
}

func (r refusal) Error() string { return r.text }

// ServeHTTP handles a request of the page. It refuses requests of other origins.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	for name, value := range map[string]string{
		"Content-Security-Policy":      s.policy(),
		"X-Content-Type-Options":       "nosniff",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Cache-Control":                "no-store",
	} {
		head.Set(name, value)
	}
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(s.Now().Add(s.Stuck))
	if r.Body != http.NoBody { // net/http reads the rest of the body before it responds
		_ = control.SetReadDeadline(s.Now().Add(bodyTimeout))
	}
	if err := s.refuseForeign(r); err != nil {
		s.writeError(w, err)
		return
	}
	err := s.route(w, r)
	if err != nil && r.Context().Err() == nil { // after the request ended there is no reader
		s.writeError(w, err)
	}
}

// policy returns the Content-Security-Policy of the page.
func (s *Server) policy() string {
	if s.sandbox == nil {
		return contentSecurityPolicy
	}
	return contentSecurityPolicy + "; frame-src " + s.sandbox.origins()
}

// refuseForeign returns an error if a request cannot be from the page, or else nil. Browsers set
// Sec-Fetch-Site and Origin, and a page cannot forge them.
func (s *Server) refuseForeign(r *http.Request) error {
	if !slices.Contains(s.hosts, r.Host) {
		return refusal{http.StatusForbidden, "the Host field has another host"}
	}
	site := r.Header.Values("Sec-Fetch-Site")
	if r.Method == http.MethodGet {
		// The field may be missing: curl and old browsers do not set it. The key protects the data.
		if slices.Contains(site, "cross-site") {
			return refusal{http.StatusForbidden, "requests from other sites are not allowed"}
		}
		return nil
	}
	if r.Method != http.MethodPost {
		return refusal{http.StatusMethodNotAllowed, "only GET and POST are allowed"}
	}
	hasOwnOrigin := slices.Equal(r.Header.Values("Origin"), []string{"http://" + r.Host})
	if !hasOwnOrigin || !slices.Equal(site, []string{"same-origin"}) {
		return refusal{http.StatusForbidden, "only the page itself may send this"}
	}
	// A page of another site can send this type only after a preflight request, which fails.
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return refusal{http.StatusUnsupportedMediaType, "only application/json is read"}
	}
	return nil
}

// route handles a request. The page's files and its entrance are open; everything else needs the
// cookie and a key.
func (s *Server) route(w http.ResponseWriter, r *http.Request) error {
	if r.URL.Path == "/enter" && r.Method == http.MethodPost {
		return s.serveEnter(w, r)
	}
	if kind, data := s.asset(r.URL.Path); data != nil && r.Method == http.MethodGet {
		return s.write(w, kind, data)
	}
	key := r.Header.Get("X-Mcpc")
	if !s.hasCookie(r) || !s.door.knows(key) {
		return refusal{
			http.StatusUnauthorized,
			"this page is not authorized: Enter at the terminal of mcpc prints a new address",
		}
	}
	s.recordActivity()
	name, isAPI := strings.CutPrefix(r.URL.Path, "/api/")
	if !isAPI {
		return errNoAddress
	}
	if r.Method == http.MethodPost {
		action, isAction := strings.CutPrefix(name, "do/")
		if isAction && action == "allow" {
			return s.serveAllow(w, r)
		}
		if !isAction || acts()[action].do == nil {
			return errNoAddress
		}
		return s.serveAct(w, r, acts()[action])
	}
	switch name {
	case "events":
		return s.serveEvents(w, r, key)
	case "body", "image":
		return s.withSlot(s.bodies, w, r, s.serveBytes)
	}
	if reads[name] == nil {
		return errNoAddress
	}
	slots := s.reads
	if name == "row" || name == "diff" { // these hold the bodies of an exchange
		slots = s.bodies
	}
	return s.withSlot(slots, w, r, func(w http.ResponseWriter, r *http.Request) error {
		return s.jsonResponder(w)(reads[name](r.Context(), s, params{r.URL.Query()}))
	})
}

var errNoAddress = refusal{http.StatusNotFound, "there is no such address"}

// hasCookie reports whether a request has the cookie. The browser may also send cookies with the
// same name, for example of a different path.
func (s *Server) hasCookie(r *http.Request) bool {
	for _, c := range r.CookiesNamed(s.cookie.Name) {
		if subtle.ConstantTimeCompare([]byte(c.Value), []byte(s.cookie.Value)) == 1 {
			return true
		}
	}
	return false
}

// withSlot waits for a free slot and handles a request in it. It returns the error of the request's
// context if the request ends first.
func (s *Server) withSlot(
	slots chan struct{},
	w http.ResponseWriter,
	r *http.Request,
	next func(http.ResponseWriter, *http.Request) error,
) error {
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
		return next(w, r)
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

// serveEnter admits a page that has the token.
func (s *Server) serveEnter(w http.ResponseWriter, r *http.Request) error {
	var input struct {
		Token string `json:"token"`
	}
	if err := s.readJSON(w, r, &input); err != nil {
		return err
	}
	key, err := s.door.enter(input.Token)
	if errors.Is(err, errPages) {
		return refusal{http.StatusTooManyRequests, err.Error()}
	}
	if err != nil {
		return refusal{http.StatusUnauthorized, err.Error()}
	}
	s.recordActivity()
	http.SetCookie(w, &s.cookie)
	return s.writeJSON(w, struct {
		Key    string      `json:"key"`
		Powers view.Powers `json:"powers"`
		Title  string      `json:"title"`
		// Asks are the powers that the page can ask for at the terminal, in words.
		Asks map[string]string `json:"asks,omitempty"`
		// MaxHold is in seconds.
		MaxHold float64 `json:"maxHold"`
		// Faults are the entries of the menu of faults.
		Faults []view.FaultKind `json:"faults"`
	}{key, s.powers(), s.Reader.Status().Title, s.askable(), s.MaxHold.Seconds(), view.FaultKinds()})
}

// askable returns the powers that the page can ask for at the terminal, in words; nil without a terminal.
func (s *Server) askable() map[string]string {
	if s.Ask == nil {
		return nil
	}
	return view.PowerWords()
}

// readJSON decodes the JSON body of a request. It returns a refusal if the body is too large or not
// the JSON of into.
func (s *Server) readJSON(w http.ResponseWriter, r *http.Request, into any) error {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPosted))
	if err == nil { // the body is read, so the handler may take long: a deadline would end the request
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	if _, isTooLarge := errors.AsType[*http.MaxBytesError](err); isTooLarge {
		return refusal{http.StatusRequestEntityTooLarge, "more than 8 MiB were sent"}
	}
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return refusal{http.StatusBadRequest, "unexpected JSON: " + err.Error()}
	}
	return nil
}
