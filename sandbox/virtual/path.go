package virtual

// SkillPath returns where the files of a skill are in the sandbox, once a command of the
// skill has run or Mount has copied them.
func (s *Sandbox) SkillPath(name string) string { return s.skillDir(name) }
