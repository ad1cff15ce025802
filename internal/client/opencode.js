// Written by "skills setup opencode" of Repertoire; "skills setup opencode --remove" takes it back.
// It adds to each prompt what the command below prints: the skills that fit, or nothing. Whatever
// goes wrong, the prompt goes on as it was.
import { spawn } from "node:child_process"

const settings =
/* settings */
{}
/* end of settings */

// The command answers within its own deadline, or says nothing; this is for one that hangs.
const limit = 2000 // milliseconds

// call runs the command of an event and returns the text for the model, "" for none.
function call(event) {
  const line = settings.hooks?.[event.hook_event_name]?.[0]?.command
  return new Promise((done) => {
    if (!line) return done("")
    const child = spawn(line, { shell: true, cwd: event.cwd, stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
    const late = setTimeout(() => { child.kill("SIGKILL"); done("") }, limit)
    let printed = ""
    child.stdout.setEncoding("utf8").on("data", (some) => { printed += some })
    child.on("error", () => { clearTimeout(late); done("") })
    child.on("close", () => { clearTimeout(late); done(textOf(printed)) })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(event))
  })
}

function textOf(printed) {
  try {
    return String(JSON.parse(printed).hookSpecificOutput.additionalContext ?? "")
  } catch {
    return ""
  }
}

// safely keeps an error from the host.
const safely = (hook) => async (...args) => {
  try {
    await hook(...args)
  } catch {}
}

export const Repertoire = async ({ directory: cwd }) => ({
  "chat.message": safely(async (_, { message, parts }) => {
    const typed = parts.filter((part) => part.type === "text" && !part.synthetic)
    const last = parts.at(-1)
    if (!last) return
    const text = await call({
      hook_event_name: "chat.message", session_id: message.sessionID, prompt_id: message.id, cwd,
      prompt: typed.map((part) => part.text).join("\n"),
    })
    // Parts are kept in the order of their ids.
    if (text) parts.push({ id: last.id + "s", sessionID: message.sessionID, messageID: message.id, type: "text", text, synthetic: true })
  }),
  "tool.execute.after": safely(async ({ tool, sessionID, args }) => {
    if (tool !== "skill" && !tool.endsWith("read_skill")) return
    await call({ hook_event_name: "tool.execute.after", session_id: sessionID, cwd, tool_name: tool, tool_input: args })
  }),
  event: safely(async ({ event }) => {
    if (event.type !== "session.compacted") return
    await call({ hook_event_name: event.type, session_id: event.properties.sessionID, cwd })
  }),
})
