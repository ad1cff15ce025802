package words

import "testing"

// TestNumber: a comma stands before each third digit from the right.
func TestNumber(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 20101: "20,101", 1234567: "1,234,567", -500: "-500", -1500: "-1,500"} {
		if got := Number(n); got != want {
			t.Errorf("Number(%d) = %q, want %q", n, got, want)
		}
	}
}
