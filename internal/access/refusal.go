package access

// A Refusal is a request that a server has refused.
type Refusal struct {
	Reason  string // in a word or two: "no token", "token", "scope", "rate" and so on, as /metrics counts them
	Status  int    // of the answer; 0 for a session that has ended
	Path    string // that was called, without what may be a secret
	Caller  string // the name of who asks; "" means that nobody knows
	Agent   string // what the token shows; "" means the whole catalog, or nothing
	Address string // of a caller without a name
}
