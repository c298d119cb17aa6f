// Package har writes the rows of a capture as an HTTP archive (HAR 1.2), which browsers and HTTP
// tools can load. Exchanges over stdio become entries with an artificial URL.
package har
