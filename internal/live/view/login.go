package view

// A Login is a login at a server that a view runs. Its texts have no control characters, and its
// secrets are masked.
type Login struct {
	// Target is the server in the form of -s.
	Target string `json:"target"`
	// Steps are all steps of a login, in order.
	Steps []LoginStep `json:"steps"`
	// URL is the page where the user logs in; "" until it is known. Code is what the user enters there, or
	// "".
	URL  string `json:"url,omitempty"`
	Code string `json:"code,omitempty"`
	// Done is true if the login has ended, and Error is why it failed; "" after a success. Help is what
	// the user can do then.
	Done  bool   `json:"done"`
	Error string `json:"error,omitempty"`
	Help  string `json:"help,omitempty"`
}

// A LoginState is the state of a step of a login.
type LoginState string

// The states of a step. A step that was not reached has the state "".
const (
	LoginNow     LoginState = "now"
	LoginDone    LoginState = "done"
	LoginFailed  LoginState = "failed"
	LoginSkipped LoginState = "skipped"
)

// A LoginStep is a step of a login, with its requests in order.
type LoginStep struct {
	Name  string     `json:"name"`
	State LoginState `json:"state"`
	// Note is the result of the step, or why it failed or was skipped.
	Note string `json:"note,omitempty"`
	// Checks are the rules that were checked, and remarks.
	Checks   []string       `json:"checks,omitempty"`
	Requests []LoginRequest `json:"requests,omitempty"`
	// Row is the key of the recorded exchange of the step, if there is one.
	Row string `json:"row,omitempty"`
}

// A LoginRequest is a request of a login. Status is 0 if there was no response.
type LoginRequest struct {
	Method  string  `json:"method"`
	URL     string  `json:"url"`
	Status  int     `json:"status,omitempty"`
	Seconds float64 `json:"seconds"`
	// Request and Response are the bodies, in lines to read. A long one is cut.
	Request  string `json:"request,omitempty"`
	Response string `json:"response,omitempty"`
}
