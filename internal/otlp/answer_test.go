package otlp

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// responseType describes a response as its .proto file does; the generated package needs gRPC.
func responseType(t *testing.T, count string) protoreflect.MessageDescriptor {
	t.Helper()
	field := func(name string, n int32, kind descriptorpb.FieldDescriptorProto_Type, of *string) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{Name: &name, Number: &n, Type: &kind, TypeName: of, Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("x.proto"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: proto.String("Response"), Field: []*descriptorpb.FieldDescriptorProto{
				field("partial_success", 1, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, proto.String(".Partial")),
			}},
			{Name: proto.String("Partial"), Field: []*descriptorpb.FieldDescriptorProto{
				field(count, 1, descriptorpb.FieldDescriptorProto_TYPE_INT64, nil),
				field("error_message", 2, descriptorpb.FieldDescriptorProto_TYPE_STRING, nil),
			}},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file.Messages().ByName("Response")
}

func TestPartialSuccess(t *testing.T) {
	for _, count := range []string{"rejected_spans", "rejected_data_points"} {
		response := dynamicpb.NewMessage(responseType(t, count))
		success := response.Descriptor().Fields().ByName("partial_success")
		partial := response.NewField(success).Message()
		partial.Set(partial.Descriptor().Fields().ByName(protoreflect.Name(count)), protoreflect.ValueOfInt64(3))
		partial.Set(partial.Descriptor().Fields().ByName("error_message"), protoreflect.ValueOfString("span too old"))
		response.Set(success, protoreflect.ValueOfMessage(partial))
		raw, err := proto.Marshal(response)
		if err != nil {
			t.Fatal(err)
		}
		if rejected, message, err := ParsePartial(Protobuf, raw); rejected != 3 || message != "span too old" || err != nil {
			t.Errorf("%s: got %d %q %v", count, rejected, message, err)
		}
	}
}

func TestAnswersOfCollectors(t *testing.T) {
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 5)
	for name, c := range map[string]struct {
		format   Format
		body     string
		rejected int64
		message  string
		fails    bool
	}{
		"empty":                     {Protobuf, "", 0, "", false},
		"a field of later":          {Protobuf, string(unknown), 0, "", false},
		"empty partial success":     {Protobuf, "\x0a\x00", 0, "", false},
		"a page":                    {Protobuf, "<html>hello</html>", 0, "", true},
		"text":                      {Protobuf, "ok", 0, "", true},
		"cut":                       {Protobuf, "\x0a\x20\x08", 0, "", true},
		"cut inside":                {Protobuf, "\x0a\x02\x12\x09", 0, "", true},
		"a message in no UTF-8":     {Protobuf, "\x0a\x03\x12\x01\xff", 0, "", true},
		"negative":                  {Protobuf, "\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", -1, "", false},
		"JSON: empty":               {JSON, "", 0, "", false},
		"JSON: full success":        {JSON, "{}", 0, "", false},
		"JSON: null":                {JSON, `{"partialSuccess":null}`, 0, "", false},
		"JSON: spans":               {JSON, `{"partialSuccess":{"rejectedSpans":"4","errorMessage":"x"}}`, 4, "x", false},
		"JSON: points as a number":  {JSON, `{"partialSuccess":{"rejectedDataPoints":4}}`, 4, "", false},
		"JSON: only a warning":      {JSON, `{"partialSuccess":{"errorMessage":"old"}}`, 0, "old", false},
		"JSON: a page":              {JSON, "<html>", 0, "", true},
		"JSON: an array":            {JSON, "[]", 0, "", true},
		"JSON: null alone":          {JSON, "null", 0, "", true},
		"JSON: a count of letters":  {JSON, `{"partialSuccess":{"rejectedSpans":"many"}}`, 0, "", true},
		"JSON: a count over 64 bit": {JSON, `{"partialSuccess":{"rejectedSpans":"9223372036854775808"}}`, 0, "", true},
	} {
		rejected, message, err := ParsePartial(c.format, []byte(c.body))
		if rejected != c.rejected || message != c.message || (err != nil) != c.fails {
			t.Errorf("%s: got %d %q %v", name, rejected, message, err)
		}
	}
}

func TestStatusMessage(t *testing.T) {
	for body, want := range map[string]string{"": "", "\x08\x03\x12\x04nope": "nope", "<html>": "", "\x12\x01\xff": "", "\x12\x09cut": ""} {
		if got := StatusMessage(Protobuf, []byte(body)); got != want {
			t.Errorf("%q: got %q, want %q", body, got, want)
		}
	}
	for body, want := range map[string]string{`{"code":3,"message":"nope"}`: "nope", `{"message":5}`: "", "[]": "", "": ""} {
		if got := StatusMessage(JSON, []byte(body)); got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

func FuzzParsePartial(f *testing.F) {
	f.Add([]byte("\x0a\x03\x08\x01\x12\x00"))
	f.Add([]byte(`{"partialSuccess":{"rejectedSpans":"4","errorMessage":"x"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, format := range []Format{Protobuf, JSON} {
			if rejected, message, err := ParsePartial(format, body); err != nil && (rejected != 0 || message != "") {
				t.Errorf("%d: %d %q beside %v", format, rejected, message, err)
			}
			StatusMessage(format, body)
		}
	})
}

// FuzzFields: fields are read as protobuf's own library reads them, except for groups.
func FuzzFields(f *testing.F) {
	f.Add([]byte("\x08\x05\x12\x01x\x1d\x01\x02\x03\x04\x21\x01\x02\x03\x04\x05\x06\x07\x08"))
	f.Add([]byte("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"))
	f.Add([]byte("\x0b\x0c"))
	f.Add([]byte("\x12\x05x"))
	f.Fuzz(func(t *testing.T, message []byte) {
		for len(message) > 0 {
			wantNumber, wantKind, n := protowire.ConsumeTag(message)
			size := n
			if n > 0 {
				size = protowire.ConsumeFieldValue(wantNumber, wantKind, message[n:])
			}
			number, kind, value, rest, ok := cutField(message)
			if grouped := wantKind == protowire.StartGroupType || wantKind == protowire.EndGroupType; grouped && n > 0 {
				if ok {
					t.Fatalf("%x: a group was read", message)
				}
				return
			}
			if ok != (size >= 0) {
				t.Fatalf("%x: read %v, want size %d", message, ok, size)
			}
			if !ok {
				return
			}
			message = message[n:]
			want := message[:size]
			if wantKind == protowire.BytesType {
				want, _ = protowire.ConsumeBytes(message)
			}
			if message = message[size:]; number != uint64(wantNumber) || kind != byte(wantKind) || string(value) != string(want) || string(rest) != string(message) {
				t.Fatalf("got %d %d %x and %x, want %d %d %x and %x", number, kind, value, rest, wantNumber, wantKind, want, message)
			}
		}
	})
}
