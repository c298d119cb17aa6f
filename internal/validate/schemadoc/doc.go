// Package schemadoc has what validate and budget both need: the dialects of JSON Schema,
// JSON pointers in decoded values, short texts of values for messages, the subschemas of a
// compiled schema, and Error, which says why a schema cannot be used.
package schemadoc
