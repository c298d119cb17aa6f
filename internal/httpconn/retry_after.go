package httpconn

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

// RetryAfter parses the value of the header field Retry-After, a number of seconds or a date (RFC
// 9110, section 10.2.3), and returns how long to wait from now. It reports false if value is
// neither. A number that is too large is the longest wait, about 68 years; a negative number and a
// date that has passed are 0.
func RetryAfter(value string, now time.Time) (time.Duration, bool) {
	seconds, err := strconv.ParseInt(value, 10, 32)
	if err == nil || errors.Is(err, strconv.ErrRange) { // then seconds is the nearest number
		return time.Duration(max(seconds, 0)) * time.Second, true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return max(at.Sub(now), 0), true
}
