package redact

import "reflect"

// Within hides the secrets in all texts of v, a pointer: strings and bytes of structs, slices and
// maps at any depth. Fields that are not exported stay unchanged.
func Within(s *Secrets, v any) { hideIn(s, reflect.ValueOf(v)) }

var bytesType = reflect.TypeFor[[]byte]()

// hideIn hides the secrets in a value of any kind, as Within describes.
func hideIn(s *Secrets, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		hideIn(s, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			// An embedded pointer to a type that is not exported cannot be set, but what it points to can.
			if f := v.Field(i); f.CanSet() || f.Kind() == reflect.Pointer {
				hideIn(s, f)
			}
		}
	case reflect.String:
		if safe := s.Text(v.String()); safe != v.String() {
			v.SetString(safe)
		}
	case reflect.Slice:
		if v.Type().ConvertibleTo(bytesType) {
			safe, n := s.Bytes(v.Bytes())
			if n > 0 {
				v.SetBytes(safe)
			}
			return
		}
		for i := range v.Len() {
			hideIn(s, v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() { // the value in a map cannot be changed in place
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			hideIn(s, value)
			v.SetMapIndex(key, value)
		}
	}
}
