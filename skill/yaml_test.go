package skill

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestResolvePlain(t *testing.T) {
	for in, want := range map[string]any{
		"": nil, "~": nil, "null": nil, "Null": nil, "NULL": nil, "nULL": "nULL",
		"true": true, "True": true, "FALSE": false, "yes": "yes", "on": "on", "y": "y",
		"0": int64(0), "-7": int64(-7), "+7": int64(7), "014": int64(14), "0o14": int64(12), "0x1f": int64(31),
		"1_000": "1_000", "0b101": "0b101", "0x": "0x", "0o8": "0o8", "-0x1": "-0x1", "1:30": "1:30",
		"1e3": 1000.0, "1.": 1.0, ".5": 0.5, "-1.5E-2": -0.015, "+.5": 0.5, "1e": "1e", "e3": "e3", ".": ".", "-": "-", "+": "+",
		".inf": math.Inf(1), "+.Inf": math.Inf(1), "-.INF": math.Inf(-1), ".nan": math.NaN(), "inf": "inf", "nan": "nan",
		"1e999": math.Inf(1), "9223372036854775807": int64(math.MaxInt64), "9223372036854775808": 9223372036854775808.0,
		"2026-01-01": "2026-01-01", "1.2.3": "1.2.3", "<<": "<<", "0x1p4": "0x1p4", "1f": "1f", "--1": "--1",
	} {
		if got := resolvePlain(in); !cmp.Equal(want, got, cmpopts.EquateNaNs()) {
			t.Errorf("%q is %T %v, want %T %v", in, got, got, want, want)
		}
	}
}
