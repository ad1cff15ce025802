package intent

func RequestWeight(name string) float64 { return weight(requestWords, name) }
