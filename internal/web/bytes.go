package web

import (
	"encoding/base64"
	"net/http"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
)

// serveBytes writes the bytes of a frame, or the image at a path in it.
func (s *Server) serveBytes(w http.ResponseWriter, r *http.Request) error {
	query := params{r.URL.Query()}
	frame, err := query.number("frame", 0)
	if err != nil {
		return err
	}
	body, err := s.Reader.Body(r.Context(), query.Get("key"), frame)
	if err != nil {
		return err
	}
	if strings.HasSuffix(r.URL.Path, "/image") {
		image, err := imageAt(body, query.Get("path"))
		if err != nil {
			return refusal{http.StatusUnprocessableEntity, "the image is not shown: " + err.Error()}
		}
		return s.write(w, "image/png", image)
	}
	return s.write(w, "text/plain; charset=utf-8", body)
}

// setFileName makes the browser save the response as a file.
func setFileName(w http.ResponseWriter, name string) {
	safe := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\/%;`, r) {
			return '_'
		}
		return r
	}, name)
	w.Header().Set("Content-Disposition", `attachment; filename="`+safe+`"`)
}

// imageAt returns as PNG the image at a JSON pointer, given as base64 or as a data URL. It returns
// an error if there is no string, no base64 or no image.
func imageAt(body []byte, pointer string) ([]byte, error) {
	value, _ := jsonraw.At(body, pointer)
	text, ok := jsonraw.Text(value)
	if !ok {
		return nil, refusal{text: "it is not there"}
	}
	if head, encoded, ok := strings.Cut(text, ","); ok && strings.HasPrefix(head, "data:") {
		text = encoded
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, refusal{text: "it is not base64"}
	}
	// The declared media type comes from the server; the page gets only pixels that were decoded.
	return term.PNG(http.DetectContentType(data), data)
}
